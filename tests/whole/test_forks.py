"""A fork's code runs when a writer has vouched for exactly that commit, and for no other."""

import pytest

from tests.forge_driver import RepositoryDriver
from tests.whole import texts
from tests.whole.apps import PAGE, page
from tests.whole.story import Story
from tests.whole.town import Town

pytestmark = [pytest.mark.bwrap, pytest.mark.asyncio(loop_scope="session")]


async def forked(town: Town, *, branch: str = "change") -> tuple[Story, RepositoryDriver]:
    """A pull request from a stranger's fork, which says `Theirs`; it waits for a maintainer."""
    story = await town.story(PAGE, private=False, writer="write")
    stranger = await town.person("stranger")
    story.people = {**story.people, "stranger": stranger}
    fork = await story.repository.fork(stranger)
    story.sha = await fork.push(page("Theirs"), branch=branch)
    story.number = await story.repository.open_pull(f"{stranger.login}:{branch}", by=stranger)
    await waits(story)
    return story, fork


async def waits(story: Story) -> None:
    """The comment asks for approval of the newest commit, and nothing runs."""
    body = await story.reads("🔵", story.sha)
    assert story.plain(body) == texts.awaiting_approval()
    await story.no_sandbox()


async def test_a_fork_runs_once_a_writer_has_approved_that_commit(town: Town):
    story, _ = await forked(town)
    await story.say(f"/preview {story.sha}", by=story.people["writer"])
    assert "<h1>Theirs</h1>" in await story.page(await story.ready())


async def test_a_stranger_approves_nothing_not_even_the_own_commit(town: Town):
    story, _ = await forked(town)
    comment = await story.say(f"/preview {story.sha}", by=story.people["stranger"])
    refusal = "Only people with write permission to this repository can command its previews."
    await story.says(f"<!-- branch-preview reply {comment} -->\n{refusal}\n")
    assert "🔵" in (await story.comments())[0]
    assert story.sandbox not in await town.sandboxes.names()


async def test_a_push_after_the_approval_waits_again(town: Town):
    story, fork = await forked(town)
    approved = story.sha
    await story.say(f"/preview {approved}", by=story.people["writer"])
    url = await story.ready()
    story.sha = await fork.push(page("Slipped in"), branch="change")
    await waits(story)
    await story.gone(url)
    comment = await story.say(f"/preview {approved}", by=story.people["writer"])
    moved = f"The head of this pull request is {story.sha}, not {approved}: look at it and ask again."
    await story.says(f"<!-- branch-preview reply {comment} -->\n{moved}\n")
    assert story.sandbox not in await town.sandboxes.names()


async def test_a_command_that_names_no_commit_approves_none(town: Town):
    story, _ = await forked(town)
    comment = await story.say("/preview", by=story.people["writer"])
    await story.says(f"<!-- branch-preview reply {comment} -->\n{texts.name_the_commit(story.sha)}\n")
    assert story.sandbox not in await town.sandboxes.names()


async def test_a_command_whose_delivery_a_push_overtook_approves_no_later_commit(town: Town):
    story, fork = await forked(town)
    await town.forge.delivery_fault("hold", match="issue_comment.created")
    comment = await story.say("/preview", by=story.people["writer"])  # what this writer sees is the first commit
    story.sha = await fork.push(page("Slipped in"), branch="change")
    await waits(story)
    await town.forge.clear_faults()
    await story.release("issue_comment.created")
    await story.says(f"<!-- branch-preview reply {comment} -->\n{texts.name_the_commit(story.sha)}\n")
    await waits(story)


async def test_a_fork_s_branch_named_like_the_base_s_is_not_taken_for_it(town: Town):
    story, _ = await forked(town, branch="main")
    await story.say(f"/preview {story.sha}", by=story.people["writer"])
    assert "<h1>Theirs</h1>" in await story.page(await story.ready())


async def test_a_fork_that_was_deleted_runs_from_the_base_and_closes(town: Town):
    story, fork = await forked(town)
    await fork.delete()
    await story.say(f"/preview {story.sha}", by=story.people["writer"])
    url = await story.ready()
    assert "<h1>Theirs</h1>" in await story.page(url)
    box = await town.sandboxes.find(story.sandbox)
    assert box
    assert (await box.read(("git", "remote", "get-url", "origin"))).decode().strip() == story.repository.clone_url
    await story.close()
    await story.reads("was removed")
    await story.gone(url)


async def test_a_fork_that_waits_is_closed_without_a_trace(town: Town):
    story, _ = await forked(town)
    await story.close()
    assert story.plain(await story.reads("was removed")) == texts.CLOSED
    assert story.sandbox not in await town.sandboxes.names()
