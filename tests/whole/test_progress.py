"""While a launch is under way, its comment says how far it is and what can be seen until then."""

import pytest

from tests.whole import texts
from tests.whole.apps import PAGE, page
from tests.whole.blocked import NOTES, blocked
from tests.whole.processes import processes, running
from tests.whole.town import Town

pytestmark = [pytest.mark.bwrap, pytest.mark.asyncio(loop_scope="session")]


@pytest.mark.parametrize(
    ("phase", "says"),
    [
        ("fetching", "is fetching the commit"),
        ("installing", "is installing dependencies"),
        ("preparing", "is preparing the app"),
        ("starting", "is starting the dev server"),
    ],
)
async def test_the_comment_says_what_it_is_doing(town: Town, phase: str, says: str):
    story = await town.story(NOTES)
    word = await blocked(story, phase)
    start = f"sh {word}" if phase == "starting" else "python3 dev-server"
    rows = () if phase == "fetching" else (f"Detected | Its own command, started with {start}",)
    assert story.plain(await story.reads("🟡", says)) == texts.under_way(says, *rows)
    await story.close()
    await story.no_sandbox()


async def test_while_an_update_is_fetched_the_older_page_can_still_be_opened(town: Town):
    story = await town.story(PAGE)
    await story.open_pull(page("One"))
    url = await story.ready()
    await town.forge.delivery_fault("hold", match="pull_request.synchronize")
    await story.push(page("Two"))
    await town.forge.fault("slow", method="GET", path=story.git_path, seconds=60)
    await story.release("pull_request.synchronize")
    await running(story.sha)
    body = await story.reads("is fetching", "Until then")
    assert story.plain(body) == texts.under_way("is fetching the commit", "Until then | <URL> shows SHA")
    assert "<h1>One</h1>" in await story.page(url)
    overtaken = story.sha
    await story.push(page("Three"))
    assert "<h1>Three</h1>" in await story.page(await story.ready())
    assert processes(overtaken) == []
