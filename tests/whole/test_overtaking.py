"""The newest commit wins, whatever the older one is busy with, and nothing of the older one is left."""

import asyncio

import pytest

from tests.whole.apps import PAGE, app, page
from tests.whole.blocked import NOTES, PHASES, blocked
from tests.whole.processes import processes, running
from tests.whole.story import Story
from tests.whole.town import Town, settled

pytestmark = [pytest.mark.bwrap, pytest.mark.asyncio(loop_scope="session")]


async def never_ready(story: Story, older: str) -> None:
    """The comment has not said of that commit that it is ready, and says it now of the newest."""
    assert not [body for body in await story.told() if "🟢" in body and older in body]


@pytest.mark.parametrize("phase", PHASES)
async def test_a_push_overtakes_a_launch_that_is(town: Town, phase: str):
    story = await town.story(NOTES)
    word = await blocked(story, phase)
    older = story.sha
    await story.push(app("Newer"))
    url = await story.ready()
    assert processes(word) == []
    assert "<h1>Newer</h1>" in await story.page(url)
    await never_ready(story, older)
    assert (await town.sandboxes.names()).count(story.sandbox) == 1
    assert "CancelledError" not in town.log(), "to be overtaken is no error"


async def test_a_push_overtakes_an_update_in_place(town: Town):
    story = await town.story(NOTES)
    await story.open_pull(app("Older"))
    await story.ready()
    word = f"blocked-{story.repository.id}"
    older = await story.push(app("Never", setup=f"sh {word}", scripts={word: "sleep 300\n"}))
    await running(word)
    await story.push(app("Newer", scripts={word: None}))
    assert "<h1>Newer</h1>" in await story.page(await story.ready())
    assert processes(word) == []
    await never_ready(story, older)


async def test_of_three_quick_pushes_the_last_one_stands(town: Town):
    story = await town.story(PAGE)
    first = await story.open_pull(page("One"))
    second = await story.push(page("Two"))
    third = await story.push(page("Three"))
    assert "<h1>Three</h1>" in await story.page(await story.ready())
    shown = [sha for body in await story.told() for sha in (first, second, third) if f"| Commit | {sha} |" in body]
    assert shown == sorted(shown, key=[first, second, third].index)


async def test_pushes_at_any_moment_end_with_the_newest(town: Town):
    async def one(moment: float) -> None:
        story = await town.story(PAGE)
        await story.open_pull(page("One"))
        await story.reads("| Commit |")
        await settled(moment)
        await story.push(page("Two"))
        assert "<h1>Two</h1>" in await story.page(await story.ready())

    await asyncio.gather(*(one(moment * 0.2) for moment in range(6)))


async def test_a_branch_that_is_forced_back_shows_the_older_commit_again(town: Town):
    story = await town.story(PAGE)
    older = await story.open_pull(page("Older"))
    await story.ready()
    await story.push(page("Newer") | {"more.html": "<h1>More</h1>"})
    url = await story.ready()
    await story.push_back(older)
    assert "<h1>Older</h1>" in await story.page(await story.ready())
    assert "<h1>More</h1>" not in await story.page(f"{url}/more.html")


async def test_a_branch_that_is_forced_back_after_a_failure_is_launched_anew(town: Town):
    story = await town.story(NOTES)
    older = await story.open_pull(app("Older"))
    await story.ready()
    await story.push(app(install="false"))
    await story.reads("🔴", story.sha)
    await story.push_back(older)
    assert "<h1>Older</h1>" in await story.page(await story.ready())
