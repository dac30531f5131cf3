"""A closed pull request has no preview, whatever was going on when it was closed."""

import asyncio

import pytest

from tests.whole import texts
from tests.whole.apps import PAGE, page
from tests.whole.blocked import NOTES, PHASES, blocked
from tests.whole.processes import processes
from tests.whole.story import Story
from tests.whole.town import Town, settled

pytestmark = [pytest.mark.bwrap, pytest.mark.asyncio(loop_scope="session")]


async def removed(story: Story) -> None:
    """The comment says so, and nothing is left."""
    body = await story.reads("was removed")
    assert story.plain(body) == texts.CLOSED
    await story.no_sandbox()


@pytest.mark.parametrize("phase", PHASES)
async def test_closing_ends_a_launch_that_is(town: Town, phase: str):
    story = await town.story(NOTES)
    word = await blocked(story, phase)
    await story.close()
    await removed(story)
    assert processes(word) == []
    assert not [body for body in await story.told() if "🔴" in body or "🟢" in body]


async def test_closing_at_any_moment_leaves_nothing(town: Town):
    async def one(moment: float) -> None:
        story = await town.story(PAGE)
        await story.open_pull(page("One"))
        await story.reads("| Commit |")
        await settled(moment)
        await story.close()
        await removed(story)

    await asyncio.gather(*(one(moment * 0.2) for moment in range(6)))


async def test_closing_during_an_update_ends_it_and_what_ran_before(town: Town):
    story = await town.story(PAGE)
    await story.open_pull(page("One"))
    url = await story.ready()
    await story.push(page("Two"))
    await story.close()
    await removed(story)
    await story.gone(url)


async def test_closing_after_a_failure_is_told_as_well(town: Town):
    story = await town.story(NOTES)
    await story.open_pull({"notes.txt": "Tea"})
    await story.reads("🔴")
    await story.close()
    await removed(story)


async def test_closed_and_reopened_at_once_it_runs_in_the_end(town: Town):
    story = await town.story(PAGE)
    await story.open_pull(page("One"))
    await story.ready()
    for _ in range(3):
        await story.close()
        await story.reopen()
    await story.push(page("Two"))
    assert "<h1>Two</h1>" in await story.page(await story.ready())
    assert (await town.sandboxes.names()).count(story.sandbox) == 1


async def test_a_pull_request_closed_before_anybody_told_us_of_it_leaves_nothing(town: Town):
    story = await town.story(PAGE)
    await town.forge.delivery_fault("hold", match="pull_request", times=2)
    await story.open_pull(page("One"))
    await story.close()
    await story.release("pull_request.closed")
    await story.release("pull_request.opened")
    await story.processed("pull_request.opened")
    assert await story.comments() == []
    assert story.sandbox not in await town.sandboxes.names()


async def test_a_merge_takes_the_preview_down(town: Town):
    story = await town.story(PAGE)
    await story.open_pull(page("One"))
    url = await story.ready()
    await story.repository.merge(story.number)
    await removed(story)
    await story.gone(url)


async def test_closed_while_github_is_down_it_is_gone_at_once_and_told_later(town: Town):
    story = await town.story(PAGE)
    await story.open_pull(page("One"))
    url = await story.ready()
    await town.forge.fault("server_error", method="PATCH", path="/issues/comments/", times=1000)
    await story.close()
    await story.gone(url)
    assert "🟢" in (await story.comments())[0]
    await town.forge.clear_faults()
    await removed(story)
