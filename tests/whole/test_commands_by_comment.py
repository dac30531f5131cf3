"""`/preview` and `/preview stop`: for those who may write, and only where a reader of the comment sees a command."""

import json
import uuid

import pytest

from tests.whole import texts
from tests.whole.apps import PAGE, page
from tests.whole.story import Story
from tests.whole.town import Town

pytestmark = [pytest.mark.bwrap, pytest.mark.asyncio(loop_scope="session")]

REFUSAL = "Only people with write permission to this repository can command its previews."


async def opened(town: Town, **permissions: str) -> Story:
    story = await town.story(PAGE, **permissions)
    await story.open_pull(page("One"))
    await story.ready()
    return story


async def test_a_stop_holds_against_later_pushes_until_somebody_asks(town: Town):
    story = await opened(town, writer="write")
    comment = await story.say("/preview stop", by=story.people["writer"])
    assert story.plain(await story.reads("was removed")) == texts.STOPPED
    await story.no_sandbox()
    assert await story.reactions(comment) == ["eyes"]
    await story.push(page("Two"))
    await story.processed("pull_request.synchronize")
    await story.close()
    await story.reopen()
    await story.processed("pull_request.reopened")
    assert "was removed" in (await story.comments())[0]
    assert story.sandbox not in await town.sandboxes.names()
    await story.say("Please:\r\n\r\n  /PREVIEW  \r\n", by=story.people["writer"])
    assert "<h1>Two</h1>" in await story.page(await story.ready())


async def test_who_may_only_read_is_refused_with_one_sentence_once(town: Town):
    story = await opened(town, reader="read", helper="triage")
    for person in story.people.values():
        comment = await story.say("/preview stop", by=person)
        refusal = f"<!-- branch-preview reply {comment} -->\n{REFUSAL}\n"
        await story.says(refusal)
        assert await story.reactions(comment) == ["confused"]
    again = str(uuid.uuid4())
    first, *_ = [row for row in await story.deliveries("issue_comment.created") if "/preview stop" in str(row)]
    await town.deliver("issue_comment", json.dumps(first["request"]["payload"]).encode(), guid=again)
    await story.says_in_the_log(again)
    preview, *refusals = await story.comments()
    assert len(refusals) == 2
    assert "🟢" in preview


async def test_a_command_that_readers_see_as_a_quote_or_as_code_is_none(town: Town):
    story = await opened(town)
    for text in (
        "> /preview stop",
        "Write `/preview stop` to end it",
        "```\n/preview stop\n```",
        "    /preview stop",
        "<!-- /preview stop -->",
        "see /preview stop",
        "/previewing stop",
    ):
        await story.say(text)
    await story.processed("issue_comment.created")
    assert "🟢" in (await story.comments())[0]
    assert len(await story.comments()) == 1


async def test_a_bot_commands_nothing_even_if_it_may_write(town: Town):
    robot = await town.person("robot", kind="Bot")
    story = await town.story(PAGE, roles={robot.login: "write"})
    await story.open_pull(page("One"))
    await story.ready()
    await story.say("/preview stop", by=robot)
    await story.processed("issue_comment.created")
    assert "🟢" in (await story.comments())[0]


async def test_a_word_that_is_no_command_is_answered_with_those_that_are(town: Town):
    story = await opened(town)
    comment = await story.say("/preview dance")
    known = "These are the commands: `/preview` launches, `/preview stop` takes the preview down."
    await story.says(f"<!-- branch-preview reply {comment} -->\n{known}\n")
    assert "🟢" in (await story.comments())[0]


async def test_a_preview_is_made_on_demand_of_a_draft_and_kept_up_to_date(town: Town):
    story = await town.story(PAGE)
    await story.open_pull(page("One"), draft=True)
    await story.processed("pull_request.opened")
    assert await story.comments() == []
    await story.say("/preview")
    await story.ready()
    await story.push(page("Two"))
    assert "<h1>Two</h1>" in await story.page(await story.ready())


async def test_a_failed_launch_is_tried_again_on_demand_and_a_ready_one_is_kept(town: Town):
    story = await town.story(PAGE)
    await story.push(page("One"))
    await town.forge.fault("server_error", path=story.git_path, method="GET", status=404)
    story.number = await story.repository.open_pull("change")
    assert story.plain(await story.reads("🔴")) == texts.failed(
        "while fetching the commit", "GitHub does not have this commit any more."
    )
    await story.say("/preview")
    await story.reads("🟢", story.sha)
    told = len(await story.told())
    await story.say("/preview")
    await story.processed("issue_comment.created")
    assert len(await story.told()) == told


async def test_a_command_on_a_closed_pull_request_does_nothing(town: Town):
    story = await opened(town)
    await story.close()
    await story.reads("was removed")
    await story.say("/preview")
    await story.processed("issue_comment.created")
    assert [story.plain(body) for body in await story.comments()] == [texts.CLOSED]
