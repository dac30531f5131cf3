"""Events, taken by a real receiver: who hears of what, and in what form."""

import pytest

pytestmark = pytest.mark.usefixtures("valid")


async def test_a_delivery_carries_github_s_headers_and_a_signature_over_its_bytes(app, installation, hook, shop, pull):
    (opened,) = await hook.expect("pull_request.opened")
    assert opened.signed_with(app.webhook_secret)
    assert not opened.signed_with("another")
    assert opened.headers["x-github-hook-id"] == str(app.id)
    assert opened.headers["x-github-hook-installation-target-type"] == "integration"
    assert opened.headers["x-github-hook-installation-target-id"] == str(app.id)
    assert opened.headers["content-type"] == "application/json"
    assert opened.headers["user-agent"].startswith("GitHub-Hookshot/")
    assert opened.payload["installation"]["id"] == installation
    assert opened.payload["repository"]["id"] == shop.id
    assert opened.payload["sender"]["login"] == shop.owner.login


async def test_the_life_of_a_pull_request_is_told_step_by_step(installation, hook, shop, pull):
    await shop.push({"about": "us"}, branch="feature")
    await shop.edit_pull(pull, draft=True)
    await shop.edit_pull(pull, draft=False)
    await shop.label(pull, "ui")
    await shop.label(pull)
    await shop.lock(pull)
    await shop.close(pull)
    await shop.reopen(pull)
    await shop.merge(pull)
    await hook.expect("pull_request.closed", "pull_request.closed", "push", "push", "push")
    assert [name for name in hook.names() if name.startswith("pull_request")] == [
        f"pull_request.{action}"
        for action in (
            *("opened", "synchronize", "converted_to_draft", "ready_for_review", "labeled", "unlabeled"),
            *("locked", "closed", "reopened", "closed"),
        )
    ]
    closed, merged = hook.of("pull_request.closed")
    assert not closed.payload["pull_request"]["merged"]
    assert merged.payload["pull_request"]["merged"]


async def test_a_push_is_told_as_push_and_then_as_synchronize_with_both_shas(installation, hook, shop, pull):
    before = (await shop.pull(pull))["head"]["sha"]
    await hook.expect("pull_request.opened")
    hook.received.clear()
    after = await shop.push({"about": "us"}, branch="feature", message="About us")
    push, synchronize = await hook.expect("push", "pull_request.synchronize")
    assert hook.names() == ["push", "pull_request.synchronize"]
    assert (push.payload["ref"], push.payload["before"], push.payload["after"]) == ("refs/heads/feature", before, after)
    assert [commit["message"] for commit in push.payload["commits"]] == ["About us"]
    assert not push.payload["forced"]
    assert (synchronize.payload["before"], synchronize.payload["after"]) == (before, after)
    assert synchronize.payload["pull_request"]["head"]["sha"] == after


async def test_a_force_push_is_told_as_forced(installation, hook, shop, pull):
    await hook.expect("push")
    hook.received.clear()
    await shop.push({"about": "us"}, branch="feature", start="main")
    push, _ = await hook.expect("push", "pull_request.synchronize")
    assert push.payload["forced"]


async def test_a_deleted_branch_is_told_and_closes_nothing(installation, hook, shop, pull):
    await shop.delete_branch("feature")
    await hook.expect("delete")
    gone = hook.of("push")[-1].payload
    assert (gone["deleted"], gone["after"], gone["head_commit"], gone["commits"]) == (True, "0" * 40, None, [])
    assert hook.of("delete")[0].payload["ref"] == "feature"
    assert (await shop.pull(pull))["state"] == "open"


async def test_edits_tell_what_was_before(installation, hook, shop, pull):
    await shop.push({"x": "1"}, branch="release")
    await shop.edit_pull(pull, title="New")
    await shop.edit_pull(pull, base="release")
    await hook.expect("pull_request.edited", "pull_request.edited")
    renamed, retargeted = (item.payload["changes"] for item in hook.of("pull_request.edited"))
    assert renamed == {"title": {"from": "Say hello"}}
    assert retargeted["base"]["ref"] == {"from": "main"}


async def test_a_pull_request_of_a_fork_is_told_to_the_base_and_synchronized_by_pushes_to_the_fork(
    installation, hook, shop, bob
):
    fork = await shop.fork(bob)
    await fork.push({"gift": "1"}, branch="gift")
    await shop.open_pull(f"{bob.login}:gift", by=bob)
    sha = await fork.push({"gift": "2"}, branch="gift")
    opened, synchronize = await hook.expect("pull_request.opened", "pull_request.synchronize")
    assert opened.payload["pull_request"]["head"]["repo"]["id"] == fork.id
    assert opened.payload["pull_request"]["author_association"] == "NONE"
    assert synchronize.payload["after"] == sha
    assert synchronize.payload["repository"]["id"] == shop.id
    assert hook.of("push") == []


async def test_a_pull_request_of_a_deleted_fork_is_told_without_a_head_repository(installation, hook, shop, bob):
    fork = await shop.fork(bob)
    await fork.push({"gift": "1"}, branch="gift")
    number = await shop.open_pull(f"{bob.login}:gift", by=bob)
    await fork.delete()
    await shop.close(number)
    (closed,) = await hook.expect("pull_request.closed")
    assert closed.payload["pull_request"]["head"]["repo"] is None


async def test_comments_tell_pull_requests_from_issues(forge, installation, hook, shop, pull, bob):
    comment_id = await shop.comment(pull, "/preview", by=bob)
    await shop.rest("PATCH", f"/issues/comments/{comment_id}", {"body": "/preview stop"}, by=bob)
    await shop.rest("DELETE", f"/issues/comments/{comment_id}", by=bob)
    issue = (await shop.rest("POST", "/issues", {"title": "Broken"}))["number"]
    await shop.comment(issue, "/preview")
    created, edited, deleted = await hook.expect(
        "issue_comment.created", "issue_comment.edited", "issue_comment.deleted", "issue_comment.created"
    ) and [hook.of(f"issue_comment.{action}")[0] for action in ("created", "edited", "deleted")]
    assert created.payload["comment"]["body"] == "/preview"
    assert created.payload["sender"] == created.payload["comment"]["user"]
    assert created.payload["sender"]["login"] == bob.login
    assert edited.payload["changes"] == {"body": {"from": "/preview"}}
    assert deleted.payload["comment"]["id"] == comment_id
    assert "pull_request" in created.payload["issue"]
    assert "pull_request" not in hook.of("issue_comment.created")[1].payload["issue"]


async def test_the_buttons_of_a_check_run_speak_to_its_own_app_alone(forge, installation, hook, shop, ada):
    sha = await shop.push({"a": "1"})
    rival = await forge.app("rival", owner=ada, webhook_url=hook.url.replace("/hook", "/rival"))
    await forge.install(rival, ada)
    token = await forge.installation_token(installation)
    button = {"label": "Stop", "description": "Take it down", "identifier": "stop"}
    body = {"name": "preview", "head_sha": sha, "actions": [button]}
    run = await shop.rest("POST", "/check-runs", body, by=token)
    await shop.rest("POST", f"/check-runs/{run['id']}/rerequest", by=ada)
    await forge.press(run["id"], "stop", by=ada)
    again, pressed = await hook.expect("check_run.rerequested", "check_run.requested_action")
    assert again.payload["check_run"]["head_sha"] == sha
    assert pressed.payload["requested_action"] == {"identifier": "stop"}
    assert pressed.payload["sender"]["login"] == ada.login
    heard = [row for row in await forge.deliveries("check_run") if row["installation_id"] != installation]
    assert [row["action"] for row in heard if row["repository_id"] == shop.id] == ["created"]


async def test_deployments_and_their_statuses_are_told(forge, installation, hook, shop):
    sha = await shop.push({"a": "1"})
    token = await forge.installation_token(installation)
    made = await shop.rest("POST", "/deployments", {"ref": sha, "environment": "preview"}, by=token)
    await shop.rest("POST", f"/deployments/{made['id']}/statuses", {"state": "success"}, by=token)
    _, told = await hook.expect("deployment.created", "deployment_status.created")
    assert told.payload["deployment_status"]["state"] == "success"
    assert told.payload["deployment"]["sha"] == sha


async def test_what_happens_to_a_repository_is_told(installation, hook, shop):
    await shop.rename("store")
    await shop.rest("PATCH", "", {"archived": True})
    await shop.rest("PATCH", "", {"private": True})
    await shop.delete()
    renamed, *_ = await hook.expect(
        "repository.renamed", "repository.archived", "repository.privatized", "repository.deleted"
    )
    assert renamed.payload["changes"]["repository"]["name"] == {"from": "shop"}
    assert renamed.payload["repository"]["name"] == "store"


async def test_a_transfer_is_told_with_the_owner_before(forge, hook, shop, ada, bob):
    app = await forge.app("mover", owner=bob, webhook_url=hook.url)
    installation = await forge.install(app, bob)
    await shop.transfer(bob)
    (moved,) = await hook.expect("repository.transferred")
    assert moved.payload["changes"]["owner"]["from"]["user"]["login"] == ada.login
    assert moved.payload["repository"]["owner"]["login"] == bob.login
    assert moved.payload["installation"]["id"] == installation


async def test_what_happens_to_an_installation_is_told(forge, app, hook, ada, shop):
    attic = await forge.repository(ada, "attic")
    installation = await forge.install(app, ada, [shop])
    await forge.admin("PUT", f"/installations/{installation}", {"repositories": [attic.full_name]})
    await forge.admin("PUT", f"/installations/{installation}", {"suspended": True})
    await forge.admin("PUT", f"/installations/{installation}", {"suspended": False})
    await forge.admin("DELETE", f"/installations/{installation}")
    created, added, removed, *_ = await hook.expect(
        "installation.created",
        "installation_repositories.added",
        "installation_repositories.removed",
        "installation.suspend",
        "installation.unsuspend",
        "installation.deleted",
    )
    assert [repo["id"] for repo in created.payload["repositories"]] == [shop.id]
    assert [repo["id"] for repo in added.payload["repositories_added"]] == [attic.id]
    assert [repo["id"] for repo in removed.payload["repositories_removed"]] == [shop.id]


async def test_an_app_hears_only_what_it_subscribed_to_and_may_read(forge, hook, ada, shop):
    app = await forge.app(
        "deaf", owner=ada, webhook_url=hook.url, permissions={"pull_requests": "read"}, events=["pull_request", "push"]
    )
    await forge.install(app, ada)
    await shop.push({"a": "1"}, branch="topic")
    number = await shop.open_pull("topic")
    await shop.comment(number, "hi")
    await shop.close(number)
    await hook.expect("pull_request.closed")
    assert hook.names() == ["ping", "installation.created", "pull_request.opened", "pull_request.closed"]
