"""Every operation of GitHub's description that the preview bot has to do with, answered as described."""

import time

import jwt
import pytest

from tests.forge.contract import answer_faults, operations
from tests.forge_driver import until

BY_A_PERSON = ("/user", "/repos/{owner}/{repo}/statuses/{sha}")


@pytest.fixture
async def scene(forge, ada, bob, shop, pull, hook):
    """An App with its tokens, and one of each thing that the operations speak of."""
    app = await forge.app(f"described by {ada.login}", owner=ada, webhook_url=hook.url)
    installation = await forge.install(app, ada)
    token = await forge.installation_token(installation)
    sha = (await shop.pull(pull))["head"]["sha"]
    deployment = await shop.rest("POST", "/deployments", {"ref": sha, "environment": "preview"}, by=token)
    manifest = {"name": "M", "url": "http://127.0.0.1/", "default_events": ["push"]}
    code = (await forge.admin("POST", "/app-manifests", {"owner": ada.login, "manifest": manifest}))["code"]

    async def delivered():
        return [row for row in await forge.deliveries("installation") if row["installation_id"] == installation]

    await hook.expect("installation.created")
    rows = await until(delivered, what="a delivery")
    moment = int(time.time())
    return {
        "jwt": jwt.encode({"iat": moment - 60, "exp": moment + 300, "iss": str(app.id)}, app.pem, "RS256"),
        "token": token,
        "user": ada.token,
        "sha": sha,
        "names": {
            "owner": ada.login,
            "repo": "shop",
            "pull_number": pull,
            "issue_number": pull,
            "comment_id": await shop.comment(pull, "hello"),
            "deployment_id": deployment["id"],
            "sha": sha,
            "username": bob.login,
            "installation_id": installation,
            "delivery_id": rows[-1]["id"],
            "check_run_id": (await shop.rest("POST", "/check-runs", {"name": "p", "head_sha": sha}, by=token))["id"],
            "code": code,
        },
    }


def bodies(sha):
    return {
        ("POST", "/repos/{owner}/{repo}/issues/{issue_number}/comments"): {"body": "hi"},
        ("PATCH", "/repos/{owner}/{repo}/issues/comments/{comment_id}"): {"body": "hi again"},
        ("POST", "/repos/{owner}/{repo}/issues/comments/{comment_id}/reactions"): {"content": "eyes"},
        ("POST", "/repos/{owner}/{repo}/deployments"): {"ref": sha, "payload": {"a": 1}},
        ("POST", "/repos/{owner}/{repo}/deployments/{deployment_id}/statuses"): {
            "state": "success",
            "environment_url": "http://127.0.0.1:1/",
            "log_url": "http://127.0.0.1:1/log",
        },
        ("POST", "/repos/{owner}/{repo}/statuses/{sha}"): {"state": "success", "context": "preview"},
        ("POST", "/repos/{owner}/{repo}/check-runs"): {"name": "preview", "head_sha": sha, "status": "queued"},
        ("PATCH", "/repos/{owner}/{repo}/check-runs/{check_run_id}"): {"conclusion": "success"},
        ("POST", "/app/installations/{installation_id}/access_tokens"): {"permissions": {"contents": "read"}},
        ("PATCH", "/app/hook/config"): {"secret": "new"},
    }


async def ask(forge, scene, method, template):
    path = template.format(**scene["names"])
    key = (
        "jwt" if template.startswith("/app/") or template in ("/app", "/repos/{owner}/{repo}/installation") else "token"
    )
    headers = {"Authorization": f"Bearer {scene['user' if template in BY_A_PERSON else key]}"}
    body = bodies(scene["sha"]).get((method, template))
    return await forge.http.request(method, f"/api/v3{path}", json=body, headers=headers)


async def test_every_operation_answers_as_described(forge, scene):
    assert len(operations()) == 25
    for method, template in sorted(operations(), key=lambda operation: (operation[0] == "DELETE", operation)):
        answer = await ask(forge, scene, method, template)
        assert answer.is_success, (method, template, answer.text)
        content = answer.json() if answer.content else None
        assert answer_faults(method, template, answer.status_code, content) == [], (method, template)


async def test_a_refusal_has_the_described_form(forge, scene, pull):
    path = "/repos/{owner}/{repo}/issues/{issue_number}/comments"
    headers = {"Authorization": f"Bearer {scene['token']}"}
    answer = await forge.http.post(f"/api/v3{path.format(**scene['names'])}", json={}, headers=headers)
    assert answer.status_code == 422
    assert answer_faults("POST", path, 422, answer.json()) == []


async def test_a_finished_check_run_and_a_merged_pull_request_are_described_too(forge, scene, shop, pull):
    await shop.merge(pull)
    template = "/repos/{owner}/{repo}/pulls/{pull_number}"
    assert answer_faults("GET", template, 200, await shop.pull(pull)) == []
    run = await shop.rest("GET", f"/check-runs/{scene['names']['check_run_id']}")
    assert answer_faults("PATCH", "/repos/{owner}/{repo}/check-runs/{check_run_id}", 200, run) == []


async def test_the_yardstick_notices_what_is_missing(forge, shop):
    whole = await shop.rest("GET")
    del whole["full_name"]
    assert answer_faults("GET", "/repos/{owner}/{repo}", 200, whole) == [": 'full_name' is a required property"]
