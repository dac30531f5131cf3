"""Two bots on one Postgres: the launches of one that dies go on in the other."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from bot import annexes
from bot.annexes import Annex
from tests.forge_driver import until
from tests.whole.story import PATIENCE
from tests.whole.test_crashes import APP, arm
from tests.whole.town import Town, open_town

pytestmark = [pytest.mark.bwrap, pytest.mark.asyncio(loop_scope="session")]


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def shared_town(tmp_path_factory: pytest.TempPathFactory, postgres: str) -> AsyncIterator[Town]:
    folder = tmp_path_factory.mktemp("shared")
    settings = {"PREVIEW_DATABASE_URL": postgres, "CRASH_FILE": str(folder / "point")}
    async with open_town(folder, bot=False, **settings) as running:
        await running.start_bot(program="tests.whole.crashing")
        yield running


@pytest_asyncio.fixture(loop_scope="session")
async def colleague(shared_town: Town) -> AsyncIterator[Annex]:
    """A second bot on the same database, which no webhook reaches."""
    env = {**shared_town.settings, "PREVIEW_PORT": "0"}
    bot = await annexes.start(("bot", "serve"), log=Path(shared_town.folder) / "colleague.log", env=env)
    yield bot
    await bot.stop()


@pytest.mark.parametrize("point", ["launch/install:before", "launch/check:effect"])
async def test_a_dead_bots_launch_goes_on_in_its_colleague(shared_town: Town, colleague: Annex, point: str):
    bot = shared_town.bot
    assert bot
    story = await shared_town.story(APP)
    await arm(shared_town, point)
    await story.open_pull({"page.txt": "second "})

    async def dead() -> bool:
        return bot.process.returncode is not None

    await until(dead, what=f"the bot to die at {point}", deadline=PATIENCE)
    url = await story.ready()
    assert await story.page(url) == "second second "
    await shared_town.start_bot(program="tests.whole.crashing")
    await story.close()
    await story.reads("was removed")
    await story.gone(url)
