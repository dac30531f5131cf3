"""Everything that can be made to fail does, as often as asked, and then works again."""

import asyncio

import httpx
import pytest

from tests.forge_driver import until


@pytest.fixture
def path(shop, pull):
    return f"/api/v3/repos/{shop.full_name}/issues/{pull}/comments"


@pytest.fixture
def write(forge, ada, path):
    async def post(**more):
        return await forge.http.post(
            path, json={"body": "hi"}, headers={"Authorization": f"Bearer {ada.token}"}, **more
        )

    return post


@pytest.mark.parametrize(
    ("fault", "status", "headers"),
    [
        ({"kind": "server_error"}, 502, {}),
        ({"kind": "server_error", "status": 503}, 503, {}),
        ({"kind": "secondary_limit", "retry_after": 7}, 403, {"retry-after": "7"}),
        ({"kind": "primary_limit"}, 403, {"x-ratelimit-remaining": "0"}),
        ({"kind": "too_many_requests", "retry_after": 2}, 429, {"retry-after": "2"}),
        ({"kind": "unauthorized"}, 401, {}),
        ({"kind": "redirect", "location": "http://127.0.0.1:1/"}, 307, {"location": "http://127.0.0.1:1/"}),
    ],
)
async def test_a_fault_answers_instead_and_does_nothing(forge, shop, pull, write, fault, status, headers):
    await forge.fault(**fault, times=2)
    for _ in range(2):
        answer = await write()
        assert answer.status_code == status
        assert {name: answer.headers[name] for name in headers} == headers
        assert answer.json()["message"]
    assert await shop.comments(pull) == []
    assert (await write()).status_code == 201


async def test_a_lost_answer_leaves_the_work_done(forge, shop, pull, write):
    await forge.fault("lost_answer")
    assert (await write()).status_code == 502
    assert [row["body"] for row in await shop.comments(pull)] == ["hi"]


async def test_a_reset_is_a_broken_connection(forge, shop, pull, write):
    await forge.fault("reset")
    with pytest.raises((httpx.ReadError, httpx.RemoteProtocolError)):
        await write()
    assert await shop.comments(pull) == []
    assert (await write()).status_code == 201


async def test_a_hang_lasts_until_the_caller_gives_up(forge, shop, pull, write):
    await forge.fault("hang")
    with pytest.raises(httpx.ReadTimeout):
        await write(timeout=0.2)
    assert await shop.comments(pull) == []


async def test_a_slow_answer_is_the_right_one(forge, shop, pull, write):
    await forge.fault("slow", seconds=0.3, method="POST")
    slow = asyncio.create_task(write())
    assert [row["body"] for row in await shop.comments(pull)] == []
    assert (await slow).status_code == 201


async def test_a_fault_strikes_only_what_matches(forge, shop, pull, write):
    await forge.fault("server_error", method="POST", path=r"/deployments$")
    assert (await write()).status_code == 201
    with pytest.raises(httpx.HTTPStatusError):
        await shop.rest("POST", "/deployments", {"ref": "main"})


async def test_faults_are_cleared(forge, write):
    await forge.fault("server_error", times=50)
    await forge.clear_faults()
    assert (await write()).status_code == 201


async def test_git_fails_too(forge, shop):
    await forge.fault("server_error", path=r"\.git/info/refs$")
    answer = await forge.http.get(f"/{shop.full_name}.git/info/refs?service=git-upload-pack")
    assert answer.status_code == 502


@pytest.fixture
async def hooked(forge, ada, shop, pull, hook):
    """A receiver that hears of the pull request's comments."""
    await shop.rest("POST", "/hooks", {"config": {"url": hook.url}, "events": ["issue_comment"]})
    await hook.expect("ping")
    hook.received.clear()
    return hook


def bodies(hook):
    return [item.payload["comment"]["body"] for item in hook.received]


async def logged(forge, shop, event="issue_comment"):
    return [row for row in await forge.deliveries(event) if row["repository_id"] == shop.id]


async def test_a_lost_delivery_is_in_the_log_as_failed_and_can_be_sent_again(forge, shop, pull, hooked):
    await forge.delivery_fault("lose", match=r"^issue_comment\.created$")
    await shop.comment(pull, "lost")
    await shop.comment(pull, "found")
    await hooked.expect("issue_comment.created")
    assert bodies(hooked) == ["found"]
    lost = (await logged(forge, shop))[0]
    assert (lost["status_code"], lost["status"]) == (502, "failed to connect to host")
    await forge.redeliver(lost["id"])
    await hooked.expect(*["issue_comment.created"] * 2)
    assert bodies(hooked) == ["found", "lost"]
    assert hooked.received[1].guid == lost["guid"]
    again = (await logged(forge, shop))[-1]
    assert (again["redelivery"], again["guid"]) == (True, lost["guid"])


async def test_a_vanished_delivery_leaves_no_trace(forge, shop, pull, hooked):
    await forge.delivery_fault("vanish")
    await shop.comment(pull, "vanished")
    await shop.comment(pull, "seen")
    await hooked.expect("issue_comment.created")
    assert bodies(hooked) == ["seen"]
    assert len(await logged(forge, shop)) == 1


async def test_a_repeated_delivery_arrives_twice_under_one_guid(forge, shop, pull, hooked):
    await forge.delivery_fault("repeat")
    await shop.comment(pull, "echo")
    await hooked.expect(*["issue_comment.created"] * 2)
    assert bodies(hooked) == ["echo", "echo"]
    assert hooked.received[0].guid == hooked.received[1].guid


async def test_a_delayed_delivery_is_overtaken(forge, shop, pull, hooked):
    await forge.delivery_fault("delay", seconds=0.5)
    await shop.comment(pull, "late")
    await shop.comment(pull, "early")
    await hooked.expect(*["issue_comment.created"] * 2)
    assert bodies(hooked) == ["early", "late"]


async def test_held_deliveries_are_released_in_any_order(forge, shop, pull, hooked):
    await forge.delivery_fault("hold", match="issue_comment", times=3)
    for body in "abc":
        await shop.comment(pull, body)
    held = [row["id"] for row in await logged(forge, shop) if row["status"] == "held"]
    assert await forge.release([held[2], held[0]]) == [held[2], held[0]]
    await hooked.expect(*["issue_comment.created"] * 2)
    assert bodies(hooked) == ["c", "a"]
    assert await forge.release() == [held[1]]
    await hooked.expect(*["issue_comment.created"] * 3)
    assert bodies(hooked) == ["c", "a", "b"]


async def test_a_receiver_that_answers_an_error_is_not_asked_again(forge, shop, pull, hooked):
    hooked.answers = [500]
    await shop.comment(pull, "first")
    await shop.comment(pull, "second")
    await hooked.expect(*["issue_comment.created"] * 2)
    assert bodies(hooked) == ["first", "second"]

    async def answered():
        return [row["status_code"] for row in await logged(forge, shop)] == [500, 202]

    assert await until(answered, what="both answers in the log")


async def test_the_admin_api_is_for_the_admin(forge, ada):
    for headers in ({}, {"Authorization": f"Bearer {ada.token}"}):
        assert (await forge.http.get("/_forge/state", headers=headers)).status_code == 401


async def test_the_state_tells_no_secrets(forge, ada):
    app = await forge.app("secretive", owner=ada)
    told = str(await forge.state())
    for secret in (ada.token, app.webhook_secret, app.pem.splitlines()[5]):
        assert secret not in told
