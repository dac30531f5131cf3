"""A delivery is a wake-up and not the truth: repeated, late, lost, out of order or all at once, the end is the same."""

import asyncio
import json
import uuid

import pytest

from tests.whole import texts
from tests.whole.apps import PAGE, page
from tests.whole.town import Town

pytestmark = [pytest.mark.bwrap, pytest.mark.asyncio(loop_scope="session")]


async def test_the_same_delivery_five_times_is_one_launch(town: Town):
    story = await town.story(PAGE)
    await town.forge.delivery_fault("hold", match="pull_request.opened")
    await story.open_pull(page("One"))
    (held,) = await story.deliveries("pull_request.opened")
    body = json.dumps(held["request"]["payload"]).encode()
    answers = await asyncio.gather(*(town.deliver("pull_request", body, guid=held["guid"]) for _ in range(5)))
    assert [answer.status_code for answer in answers] == [202] * 5
    await story.ready()
    assert town.log().count(f"launch 1 of {story.sha}") == 1
    assert f"launch 2 of {story.sha}" not in town.log()
    assert (await town.sandboxes.names()).count(story.sandbox) == 1


async def test_a_delivery_that_was_processed_is_a_duplicate_when_it_comes_again(town: Town):
    story = await town.story(PAGE)
    await story.open_pull(page("One"))
    await story.ready()
    await story.processed("pull_request.opened")
    before, told = await story.comments(), len(await story.told())
    (opened,) = await story.deliveries("pull_request.opened")
    body = json.dumps(opened["request"]["payload"]).encode()
    again = await town.deliver("pull_request", body, guid=opened["guid"])
    assert (again.status_code, again.json()) == (202, {"status": "duplicate"})
    other = str(uuid.uuid4())
    assert (await town.deliver("pull_request", body, guid=other)).json() == {"status": "accepted"}
    await story.says_in_the_log(other)
    assert await story.comments() == before
    assert len(await story.told()) == told


async def test_deliveries_in_the_wrong_order_end_with_the_newest_commit(town: Town):
    story = await town.story(PAGE)
    await town.forge.delivery_fault("hold", match="pull_request", times=4)
    older = [await story.open_pull(page("0")), await story.push(page("1")), await story.push(page("2"))]
    await story.push(page("3"))
    held = [*await story.deliveries("pull_request.synchronize"), *await story.deliveries("pull_request.opened")]
    await town.forge.release([row["id"] for row in reversed(held)])
    assert "<h1>3</h1>" in await story.page(await story.ready())
    await story.processed("pull_request")
    assert not [body for body in await story.told() if any(sha in body for sha in older)]


async def test_four_deliveries_at_once_are_one_comment_and_one_sandbox(town: Town):
    story = await town.story(PAGE)
    await town.forge.delivery_fault("hold", match="pull_request", times=4)
    await story.open_pull(page("0"))
    for text in ("1", "2", "3"):
        await story.push(page(text))
    held = await story.deliveries("pull_request")
    assert len(held) == 4
    bodies = [json.dumps(row["request"]["payload"]).encode() for row in held]
    await asyncio.gather(*(town.deliver("pull_request", body) for body in bodies))
    assert "<h1>3</h1>" in await story.page(await story.ready())
    assert len(await story.comments()) == 1
    assert (await town.sandboxes.names()).count(story.sandbox) == 1


async def test_a_lost_push_is_caught_up_with_at_the_next_delivery_of_any_kind(town: Town):
    story = await town.story(PAGE)
    await story.open_pull(page("One"))
    await story.ready()
    await town.forge.delivery_fault("vanish", match="pull_request.synchronize")
    await story.push(page("Two"))
    await story.repository.label(story.number, "urgent")
    assert "<h1>Two</h1>" in await story.page(await story.ready())


async def test_what_is_not_for_us_is_accepted_and_ignored(town: Town):
    story = await town.story(PAGE)
    strange = await town.deliver("sponsorship", b'{"action": "created"}')
    assert (strange.status_code, strange.json()["status"]) == (202, "ignored")
    await story.repository.rest("POST", "/issues", {"title": "A plain issue"})
    await story.repository.comment(1, "/preview")
    await story.says_in_the_log((await story.deliveries("issue_comment.created"))[0]["guid"])
    assert len(await story.repository.comments(1)) == 1


async def test_a_forged_delivery_is_refused_and_does_nothing(town: Town):
    story = await town.story(PAGE)
    await story.open_pull(page("One"))
    await story.ready()
    await town.forge.delivery_fault("hold", match="pull_request.closed")
    await story.close()
    (closed,) = await story.deliveries("pull_request.closed")
    body = json.dumps(closed["request"]["payload"]).encode()
    forged = await town.deliver("pull_request", body, secret="a guess")
    assert forged.status_code == 401
    assert "🟢" in (await story.comments())[0]
    await story.release("pull_request.closed")
    assert story.plain(await story.reads("was removed")) == texts.CLOSED
