"""The main job: a push becomes a comment that holds a URL which answers."""

import pytest

from tests.whole.apps import PAGE, page
from tests.whole.town import Town

pytestmark = [pytest.mark.bwrap, pytest.mark.asyncio(loop_scope="session")]


async def test_a_pull_request_gets_one_comment_with_a_url_that_answers(town: Town):
    story = await town.story(PAGE)
    await story.open_pull(page("Welcome"))
    url = await story.ready()
    assert "<h1>Welcome</h1>" in await story.page(url)
    (body,) = await story.comments()
    assert story.plain(body) == (
        "<!-- branch-preview REPO#N -->\n"
        "### 🟢 [Open the preview](URL)\n"
        "\n"
        "| | |\n"
        "| --- | --- |\n"
        "| Preview | <URL> |\n"
        "| Commit | HEAD |\n"
        "| Ready | N s after the push (PARTS) |\n"
        "| Detected | Static pages, started with python3 -m http.server 8000 |\n"
        "\n"
        "<sub>Every push updates it. `/preview stop` takes it down.</sub>\n"
    )


async def test_a_push_updates_the_same_comment_and_the_same_url(town: Town):
    story = await town.story(PAGE)
    await story.open_pull(page("One"))
    url = await story.ready()
    await story.push(page("Two"))
    assert await story.ready() == url
    assert "<h1>Two</h1>" in await story.page(url)
    assert "Updated in place" in (await story.comments())[0]


async def test_closing_takes_the_preview_down_and_reopening_brings_it_back(town: Town):
    story = await town.story(PAGE)
    await story.open_pull(page("One"))
    url = await story.ready()
    await story.close()
    body = await story.reads("was removed")
    await story.gone(url)
    assert story.plain(body) == (
        "<!-- branch-preview REPO#N -->\n"
        "### ⚪ The preview was removed\n"
        "\n"
        "The pull request was closed. Reopening it brings the preview back.\n"
    )
    await story.reopen()
    assert "<h1>One</h1>" in await story.page(await story.ready())


async def test_a_writer_stops_and_launches_by_comment(town: Town):
    story = await town.story(PAGE)
    await story.open_pull(page("One"))
    url = await story.ready()
    await story.say("/preview stop")
    await story.reads("Stopped by a command")
    await story.gone(url)
    await story.say("Once more, please:\n\n/preview")
    assert "<h1>One</h1>" in await story.page(await story.ready())
