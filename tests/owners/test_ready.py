"""From a started server to a URL that answers, with real servers in a real sandbox."""

import pytest

from bot import ready
from bot.errors import NeverReady, ServerExited
from bot.plan import LaunchPlan, Readiness
from bot.ready import await_ready
from bot.sandbox import Box, Commit

pytestmark = pytest.mark.bwrap

PORT = 3000


@pytest.fixture
async def box(sandboxes, name, shop) -> Box:
    sha = await shop.driver.push({"index.html": "<h1>Hello</h1>", "error.html": "Internal trouble"})
    return await sandboxes.create(name, Commit(shop.driver.clone_url, sha, ("x", shop.owner.token)), PORT)


async def launch(box: Box, *start: str, limit: float = 30, **changes: object) -> ready.Found:
    """Start a command and wait until it is ready."""
    plan = LaunchPlan(kind="test", title="A test", start=start, port=PORT, **changes)
    return await await_ready(box, await box.start(start), await box.route(PORT), plan, limit=limit)


def serve(port: int = PORT, *, before: str = "") -> tuple[str, ...]:
    return ("sh", "-c", f"{before} exec python3 -m http.server {port} --bind 127.0.0.1")


async def test_a_server_that_answers_is_ready(box):
    found = await launch(box, *serve())
    assert found == ready.Found(await box.route(PORT))


async def test_a_server_that_takes_its_time_is_waited_for(box):
    assert (await launch(box, *serve(before="sleep 1;"))).notes == ()


async def test_a_server_that_ends_is_told_at_once_with_its_code_and_log(box):
    with pytest.raises(ServerExited) as told:
        await launch(box, "sh", "-c", "echo 'Cannot find module x'; exit 3", limit=300)
    assert (told.value.exit_code, told.value.log) == (3, "Cannot find module x\n")
    assert told.value.cause == "`sh -c echo 'Cannot find module x'; exit 3` exited with code 3."
    assert "imported and not installed" in told.value.remedy


async def test_a_server_that_is_killed_is_said_to_be_out_of_memory(box):
    with pytest.raises(ServerExited, match="was killed, most likely out of memory"):
        await launch(box, "sh", "-c", "kill -9 $$", limit=300)


async def test_a_server_that_misses_a_variable_is_told_its_name(box):
    with pytest.raises(ServerExited) as told:
        await launch(box, "sh", "-c", "echo DATABASE_URL is not set; exit 1", needs_env=("API_KEY", "DATABASE_URL"))
    assert told.value.remedy == "It asks for these variables: `DATABASE_URL`."


async def test_a_server_on_another_port_is_found_and_that_is_noted(box, monkeypatch):
    monkeypatch.setattr(ready, "LOOK_ELSEWHERE_SECONDS", 0.3)
    found = await launch(box, *serve(4321))
    assert found.url == await box.route(4321)
    assert found.notes == ("The app listens on port 4321, not on 3000; that one is shown.",)


async def test_a_server_that_listens_nowhere_is_never_ready(box):
    with pytest.raises(NeverReady) as told:
        await launch(box, "sh", "-c", "echo thinking; exec sleep 1000", limit=1)
    assert told.value.cause == "The app runs, but listens on no port after 1 s."
    assert told.value.log == "thinking\n"


async def test_servers_on_two_other_ports_are_listed(box):
    both = "python3 -m http.server 4001 & exec python3 -m http.server 4002"
    with pytest.raises(NeverReady) as told:
        await launch(box, "sh", "-c", both, limit=4)
    assert told.value.cause == "Nothing listens on port 3000 after 4 s; the app listens on 4001, 4002."
    assert "`port` in `.github/preview.toml`" in told.value.remedy


async def test_a_server_that_accepts_and_says_nothing_is_never_ready(box):
    mute = f"import socket, time; s = socket.create_server(('127.0.0.1', {PORT})); time.sleep(1000)"
    with pytest.raises(NeverReady, match="accepts connections on port 3000 but gave no answer within 1 s"):
        await launch(box, "python3", "-c", mute, limit=1)


async def test_an_error_page_is_not_ready_and_is_told_with_its_remedy(box):
    readiness = Readiness(path="/error.html", failure_signs={"Internal trouble": "Mend the trouble."})
    with pytest.raises(NeverReady) as told:
        await launch(box, *serve(), limit=1, readiness=readiness)
    assert (told.value.cause, told.value.remedy) == ("The page says “Internal trouble”.", "Mend the trouble.")


async def test_a_live_reload_socket_that_does_not_open_is_noted_and_no_failure(box):
    found = await launch(box, *serve(), readiness=Readiness(websocket_path="/ws"))
    assert found.notes == ("Live reload's WebSocket does not open; reload the page by hand after a push.",)
