"""The bot dies by SIGKILL at each step boundary of a launch, an update and a teardown; started again, it converges."""

import sqlite3
from collections.abc import AsyncIterator
from contextlib import closing
from pathlib import Path

import pytest
import pytest_asyncio

from tests.forge_driver import until
from tests.whole.crashing import PHASES
from tests.whole.story import PATIENCE, Story
from tests.whole.town import Town, open_town

pytestmark = [pytest.mark.bwrap, pytest.mark.asyncio(loop_scope="session")]

APP = {
    "server.py": (
        "import http.server, pathlib\n"
        "class Page(http.server.BaseHTTPRequestHandler):\n"
        "    text = pathlib.Path('page.txt').read_bytes() + pathlib.Path('installed.txt').read_bytes()\n"
        "    def do_GET(self):\n"
        "        self.send_response(200); self.end_headers(); self.wfile.write(self.text)\n"
        "http.server.ThreadingHTTPServer(('127.0.0.1', 4000), Page).serve_forever()\n"
    ),
    "install.sh": "cp page.txt installed.txt\n",
    ".github/preview.toml": 'install = "sh install.sh"\nstart = "python3 server.py"\nport = 4000\n',
    "page.txt": "first ",
}
BEGINNING = ("act:before", "decide:after")
MOMENTS = ("before", "effect", "after")
LAUNCH = (*BEGINNING, *(f"launch/{phase}:{when}" for phase in PHASES for when in MOMENTS), "launch/tell:before")
TEARDOWN = (*BEGINNING, *(f"teardown/{step}:{when}" for step in ("destroy", "tell") for when in ("before", "after")))


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def crash_town(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Town]:
    folder = tmp_path_factory.mktemp("crashes")
    async with open_town(folder, bot=False, PREVIEW_SWEEP_INTERVAL="2", CRASH_FILE=str(folder / "point")) as running:
        await running.start_bot(program="tests.whole.crashing")
        yield running


async def arm(town: Town, point: str) -> None:
    """Have the bot die when it comes to that point, once all that it was at before is over."""

    async def idle() -> bool:
        with closing(sqlite3.connect(Path(town.settings["PREVIEW_DATA_DIR"], "workflows.db"))) as database:
            return not database.execute(
                "SELECT 1 FROM workflow_status WHERE status IN ('PENDING', 'ENQUEUED')"
            ).fetchone()

    if "PREVIEW_DATABASE_URL" not in town.settings:
        await until(idle, what="the bot to have nothing to do", deadline=PATIENCE)
    Path(town.settings["CRASH_FILE"]).write_text(point)


async def dies_and_comes_back(town: Town, point: str) -> None:
    """Wait until the bot has died at the point, and start it again."""
    bot = town.bot
    assert bot

    async def dead() -> bool:
        return bot.process.returncode is not None

    await until(dead, what=f"the bot to die at {point}", deadline=PATIENCE)
    await town.start_bot(program="tests.whole.crashing")


async def is_one_sound_preview(story: Story, text: str) -> None:
    """One comment that says ready for the newest commit, one sandbox, and the page of that commit."""
    url = await story.ready()
    assert await story.page(url) == text
    assert (await story.town.sandboxes.names()).count(story.sandbox) == 1
    assert len(await story.comments()) == 1


@pytest.mark.parametrize("point", LAUNCH)
async def test_a_launch_and_an_update_survive_a_crash(crash_town: Town, point: str):
    story = await crash_town.story(APP)
    await arm(crash_town, point)
    await story.open_pull({"page.txt": "second "})
    await dies_and_comes_back(crash_town, point)
    await is_one_sound_preview(story, "second second ")
    await arm(crash_town, point)
    await story.push({"page.txt": "third ", "install.sh": "cp page.txt installed.txt # again\n"})
    await dies_and_comes_back(crash_town, point)
    await is_one_sound_preview(story, "third second ")
    await story.close()
    await story.reads("was removed")
    await story.no_sandbox()


@pytest.mark.parametrize("point", TEARDOWN)
async def test_a_teardown_survives_a_crash(crash_town: Town, point: str):
    story = await crash_town.story(APP)
    await story.open_pull({"page.txt": "second "})
    url = await story.ready()
    await arm(crash_town, point)
    await story.close()
    await dies_and_comes_back(crash_town, point)
    await story.reads("was removed")
    await story.gone(url)
    assert len(await story.comments()) == 1
