"""A repository's own hooks, and the delivery log that an App reads to catch up."""

import pytest
from github import Auth, GithubIntegration

from tests.forge_driver import until

pytestmark = pytest.mark.usefixtures("valid")


async def test_a_repository_s_own_hook_names_no_installation(forge, hook, shop, ada):
    body = {"config": {"url": hook.url, "secret": "shh"}, "events": ["pull_request"]}
    made = await shop.rest("POST", "/hooks", body)
    await shop.push({"a": "1"}, branch="topic")
    await shop.open_pull("topic")
    ping, opened = await hook.expect("ping", "pull_request.opened")
    assert ping.payload["hook_id"] == made["id"]
    assert hook.names() == ["ping", "pull_request.opened"]
    assert opened.signed_with("shh")
    assert "installation" not in opened.payload
    assert opened.headers["x-github-hook-installation-target-type"] == "repository"


async def test_the_app_reads_its_log_and_has_a_failure_sent_again_under_the_same_guid(
    forge, app, installation, hook, shop
):
    hook.answers = [500]
    await shop.push({"a": "1"}, branch="topic")
    (failed,) = await hook.expect("push")
    with GithubIntegration(auth=Auth.AppAuth(app.id, app.pem), base_url=forge.api) as integration:
        requester = integration.requester

        async def logged():
            _, rows = requester.requestJsonAndCheck("GET", "/app/hook/deliveries")
            return next((row for row in rows if row["guid"] == failed.guid), None)

        row = await until(logged, what="the delivery in the log")
        assert (row["event"], row["status_code"], row["redelivery"]) == ("push", 500, False)
        _, whole = requester.requestJsonAndCheck("GET", f"/app/hook/deliveries/{row['id']}")
        assert whole["request"]["payload"] == failed.payload
        assert whole["request"]["headers"]["X-GitHub-Event"] == "push"
        assert whole["response"]["payload"] == "ok"
        requester.requestJsonAndCheck("POST", f"/app/hook/deliveries/{row['id']}/attempts")
        await hook.expect("push", "push")
        assert [item.guid for item in hook.of("push")] == [failed.guid, failed.guid]


async def test_the_log_is_read_newest_first_by_a_cursor(forge, app, installation, hook, shop):
    for number in range(5):
        await shop.push({"a": str(number)}, branch=f"topic{number}")
    await hook.expect(*["push"] * 5)

    async def settled():
        return all(row["status"] == "OK" for row in await forge.deliveries() if row["installation_id"] == installation)

    await until(settled, what="answers to all deliveries")
    with GithubIntegration(auth=Auth.AppAuth(app.id, app.pem), base_url=forge.api) as integration:
        url, seen = "/app/hook/deliveries?per_page=2", []
        while url:
            headers, rows = integration.requester.requestJsonAndCheck("GET", url)
            seen += [row["id"] for row in rows]
            url = headers.get("link", "").partition("<")[2].partition(">")[0]
    assert len(seen) == 7
    assert seen == sorted(seen, reverse=True)


async def test_a_receiver_that_is_away_is_a_failed_delivery(forge, ada, shop):
    app = await forge.app("nobody home", owner=ada, webhook_url="http://127.0.0.1:9/hook", events=["push"])
    installation = await forge.install(app, ada)

    async def failed():
        rows = [row for row in await forge.deliveries("installation") if row["installation_id"] == installation]
        return [row for row in rows if row["status_code"] == 502]

    (row,) = await until(failed, what="a failed delivery")
    assert row["status"] == "failed to connect to host"
