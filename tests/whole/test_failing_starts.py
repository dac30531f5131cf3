"""A dev server that ends, or that never answers as the app, and one that answers where nobody expected it."""

import asyncio
from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from tests.whole import texts
from tests.whole.apps import app, server
from tests.whole.story import Story
from tests.whole.town import Town, open_town

pytestmark = [pytest.mark.bwrap, pytest.mark.asyncio(loop_scope="session")]

STARTING = "while starting the dev server"
NOTES = {"notes.txt": "Milk, bread"}
SILENT = """\
import socket, time
listener = socket.create_server(("0.0.0.0", 3000), backlog=100)
taken = []
while True:
    taken.append(listener.accept())
"""


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def hasty(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Town]:
    """A town whose bot gives a server four seconds."""
    async with open_town(tmp_path_factory.mktemp("hasty"), PREVIEW_READY_LIMIT="4") as running:
        yield running


async def opened(town: Town, files: dict[str, str]) -> Story:
    story = await town.story(NOTES)
    await story.open_pull(files)
    return story


async def failure(town: Town, files: dict[str, str]) -> str:
    """What the comment says in the end; nothing is left of the launch."""
    story = await opened(town, files)
    body = await story.reads("🔴")
    await story.no_sandbox()
    return story.plain(body)


async def test_a_server_that_ends_is_told_at_once_with_its_code_and_last_lines(town: Town):
    files = app(scripts={"dev-server": "import sys\nprint('no database')\nsys.exit('I give up')\n"})
    assert await failure(town, files) == texts.failed(
        STARTING, "`python3 dev-server` exited with code 1.", detected=texts.OWN, log="no database\nI give up"
    )


async def test_a_server_that_ends_well_has_failed_as_well(town: Town):
    files = app(scripts={"dev-server": "print('built, bye')\n"})
    assert await failure(town, files) == texts.failed(
        STARTING, "`python3 dev-server` exited with code 0.", detected=texts.OWN, log="built, bye"
    )


async def test_a_command_that_does_not_exist_is_named(town: Town):
    body = await failure(town, app(start="no-such-server --port 3000"))
    assert body == texts.failed(
        STARTING,
        "`no-such-server --port 3000` exited with code 127.",
        remedy="A tool that the command needs is not in the sandbox: add it to the repository's dependencies.",
        detected="Its own command, started with no-such-server --port 3000",
        log="sh: 1: exec: no-such-server: not found",
    )


async def test_servers_that_never_answer_as_the_app(hasty: Town):
    angry, silent, deaf, two = await asyncio.gather(
        failure(hasty, app(scripts={"dev-server": server("Oh no", status=500)})),
        failure(hasty, app(scripts={"dev-server": SILENT})),
        failure(hasty, app(scripts={"dev-server": "import time\nprint('thinking', flush=True)\ntime.sleep(600)\n"})),
        failure(
            hasty, app(start="sh both", scripts={"both": "python3 -m http.server 4000 & python3 -m http.server 5000\n"})
        ),
    )
    assert angry.startswith(
        texts.failed(
            STARTING, "The app answers 500 on `/`.", remedy="Look at the log below for the error behind it."
        ).partition("| | |")[0]
    )
    assert silent == texts.failed(
        STARTING, "The app accepts connections on port 3000 but gave no answer within 4 s.", detected=texts.OWN
    )
    assert deaf == texts.failed(
        STARTING, "The app runs, but listens on no port after 4 s.", detected=texts.OWN, log="thinking"
    )
    assert "Nothing listens on port 3000 after 4 s; the app listens on 4000, 5000." in two
    assert "**What to do:** Name the right one as `port` in `.github/preview.toml`." in two


async def test_a_server_on_another_port_is_found_and_said_so(town: Town):
    story = await opened(town, app(scripts={"dev-server": server("Elsewhere", port=4321)}))
    assert "<h1>Elsewhere</h1>" in await story.page(await story.ready())
    (body,) = await story.comments()
    note = "The app listens on port 4321, not on 3000; that one is shown."
    assert story.plain(body) == texts.ready(texts.OWN, note)


@pytest.mark.parametrize("host", ["::1", "127.0.0.1", "::"])
async def test_a_server_that_listens_inside_only_is_reached(town: Town, host: str):
    story = await opened(town, app(scripts={"dev-server": server("Within", host=host)}))
    assert "<h1>Within</h1>" in await story.page(await story.ready())
