"""GitHub in trouble while a launch runs: the launch ends right, and the one comment catches up."""

import pytest

from tests.whole import texts
from tests.whole.apps import PAGE, page
from tests.whole.story import Story
from tests.whole.town import Town

pytestmark = [pytest.mark.bwrap, pytest.mark.asyncio(loop_scope="session")]

COMMENTS = "issues/1/comments$"
COMMENT = "issues/comments/"


async def pushed(town: Town) -> Story:
    """A branch that no pull request was opened from yet: the time to arm faults."""
    story = await town.story(PAGE)
    await story.push(page("One"))
    return story


async def runs_in_the_end(story: Story) -> None:
    """The pull request is opened, and all is as if there had been no trouble."""
    story.number = await story.repository.open_pull("change")
    url = await story.ready()
    assert "<h1>One</h1>" in await story.page(url)
    assert [story.plain(body) for body in await story.comments()] == [texts.ready(texts.STATIC)]


@pytest.mark.parametrize("kind", ["server_error", "reset", "secondary_limit", "too_many_requests", "unauthorized"])
async def test_reading_the_pull_request_fails_at_first(town: Town, kind: str):
    story = await pushed(town)
    await town.forge.fault(kind, method="GET", path=f"/{story.repository.full_name}/pulls/", times=3)
    await runs_in_the_end(story)


@pytest.mark.parametrize("kind", ["server_error", "reset", "secondary_limit", "lost_answer"])
async def test_writing_the_comment_fails_at_first(town: Town, kind: str):
    story = await pushed(town)
    await town.forge.fault(kind, method="POST", path=f"/{story.repository.full_name}/{COMMENTS}", times=2)
    await runs_in_the_end(story)


@pytest.mark.parametrize("kind", ["server_error", "secondary_limit", "lost_answer", "redirect"])
async def test_editing_the_comment_fails_at_first(town: Town, kind: str):
    story = await pushed(town)
    path = f"/{story.repository.full_name}/{COMMENT}"
    await town.forge.fault(kind, method="PATCH", path=path, times=3, location=f"{town.forge.api}/elsewhere")
    await runs_in_the_end(story)


async def test_a_token_cannot_be_had_at_first(town: Town):
    story = await pushed(town)
    await town.forge.fault("server_error", method="POST", path="/access_tokens$", times=2)
    await runs_in_the_end(story)


@pytest.mark.parametrize("kind", ["server_error", "reset"])
async def test_cloning_fails_at_first(town: Town, kind: str):
    story = await pushed(town)
    await town.forge.fault(kind, method="GET", path=story.git_path, times=2)
    await runs_in_the_end(story)


async def test_fetching_an_update_fails_at_first(town: Town):
    story = await pushed(town)
    await runs_in_the_end(story)
    await town.forge.delivery_fault("hold", match="pull_request.synchronize")
    await story.push(page("Two"))
    await town.forge.fault("server_error", method="GET", path=story.git_path, times=2)
    await story.release("pull_request.synchronize")
    assert "<h1>Two</h1>" in await story.page(await story.ready())


async def test_an_answer_to_the_first_comment_that_never_comes_makes_no_second_one(town: Town):
    story = await pushed(town)
    await town.forge.fault("hang", method="POST", path=f"/{story.repository.full_name}/{COMMENTS}")
    await runs_in_the_end(story)


async def test_a_comment_that_somebody_deleted_is_written_again_once(town: Town):
    story = await pushed(town)
    await runs_in_the_end(story)
    (comment,) = [row["id"] for row in await story.repository.comments(1)]
    await story.repository.rest("DELETE", f"/issues/comments/{comment}")
    assert await story.comments() == []
    await story.push(page("Two"))
    await story.ready()
    assert len(await story.comments()) == 1
    await story.push(page("Three"))
    await story.ready()
    assert len(await story.comments()) == 1


async def test_a_repository_that_was_renamed_keeps_its_preview_and_its_comment(town: Town):
    story = await pushed(town)
    await runs_in_the_end(story)
    await story.repository.rename("market")
    await story.push(page("Two"))
    assert "<h1>Two</h1>" in await story.page(await story.ready())
    assert len(await story.comments()) == 1
