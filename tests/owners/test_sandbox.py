"""Sandboxes on a real engine, through the owner of the SDK."""

import asyncio

import httpx
import pytest

from bot import sandbox
from bot.errors import OperatorFault, RepositoryFault, SandboxGone, SandboxUnavailable, SourceUnavailable
from bot.ready import listening_ports
from bot.sandbox import TAIL_CHARACTERS, Box, Commit, Sandboxes
from bot.stage import free_port
from tests.engine.engine_process import EngineProcess
from tests.forge_driver import until

pytestmark = pytest.mark.bwrap

SERVER = ("python3", "-m", "http.server", "3000", "--bind", "127.0.0.1")


@pytest.fixture
async def commit(shop) -> Commit:
    sha = await shop.driver.push({"page.html": "<h1>Hello</h1>", "below/x.txt": "x"})
    return Commit(shop.driver.clone_url, sha, ("x-access-token", shop.owner.token))


@pytest.fixture
async def box(sandboxes: Sandboxes, name, commit) -> Box:
    return await sandboxes.create(name, commit, 3000)


async def test_a_new_sandbox_holds_exactly_the_commit(box, commit):
    assert (await box.read(("git", "rev-parse", "HEAD"))).decode().strip() == commit.sha
    assert await box.read(("cat", "page.html")) == b"<h1>Hello</h1>"
    assert box.running


async def test_creating_it_again_finds_it(sandboxes, box, name, commit):
    await box.write("/tmp/mark", b"here")
    again = await sandboxes.create(name, commit, 3000)
    assert await again.read(("cat", "/tmp/mark")) == b"here"
    assert await sandboxes.names() == [name]


async def test_creating_it_twice_at_the_same_time_makes_one(sandboxes, name, commit):
    boxes = await asyncio.gather(*(sandboxes.create(name, commit, 3000) for _ in range(3)), return_exceptions=True)
    assert await sandboxes.names() == [name]
    assert any(isinstance(box, Box) for box in boxes)
    assert all(isinstance(box, Box | SandboxUnavailable) for box in boxes)


async def test_no_credential_is_left_where_the_project_s_code_could_find_it(box, commit):
    look = (
        "env; git config --list --show-origin; git remote -v; cat .git/config; cat /proc/*/environ; grep -r x-access ."
    )
    found = await box.run(("sh", "-c", f"({look}) 2>/dev/null; true"), limit=60)
    assert commit.credentials[1] not in found.output
    assert "x-access-token" not in found.output


async def test_a_sandbox_that_does_not_exist_is_none_and_destroying_it_is_fine(sandboxes, box, name):
    assert (await sandboxes.find(name)).name == name
    await sandboxes.destroy(name)
    await sandboxes.destroy(name)
    assert await sandboxes.find(name) is None
    assert await sandboxes.names() == []


async def test_a_commit_that_cannot_be_cloned_leaves_no_sandbox(sandboxes, name, commit):
    for wrong in (Commit(commit.clone_url, "d" * 40, commit.credentials), Commit(commit.clone_url, commit.sha)):
        with pytest.raises(SourceUnavailable):
            await sandboxes.create(name, wrong, 3000)
    assert await sandboxes.names() == []


async def test_instances_do_not_see_each_other_s_sandboxes(sandboxes, box, engine, redactor):
    other = Sandboxes(engine.url, engine.token, redactor, instance="somebody-else", vcpus=1, time_limit=600)
    assert await other.names() == []
    await other.close()


async def test_a_command_runs_where_and_with_what_it_is_told(box):
    done = await box.run(
        ("sh", "-c", "pwd; echo $COLOR; echo bad >&2; exit 3"), cwd="below", env={"COLOR": "red"}, limit=60
    )
    assert (done.exit_code, done.output) == (3, "/vercel/sandbox/below\nred\nbad\n")


async def test_a_command_that_takes_too_long_is_killed(box):
    done = await box.run(("sh", "-c", "echo began; sleep 1000"), limit=0.5)
    assert done.exit_code == 137
    assert done.output.startswith("began\n")


async def test_only_the_masked_end_of_the_output_is_kept(box, redactor):
    redactor.add("hunter2-secret")
    done = await box.run(("sh", "-c", "seq 1 30000; echo hunter2-secret"), limit=60)
    assert done.output.endswith("30000\n•••\n")
    assert len(done.output) <= TAIL_CHARACTERS


async def test_what_we_read_must_succeed(box):
    with pytest.raises(SandboxUnavailable, match="cat failed in the sandbox"):
        await box.read(("cat", "nothing-here"))


async def test_a_server_is_started_reached_and_ended(box):
    server = await box.start(SERVER)
    url = await box.route(3000)
    await until(lambda: _text(f"{url}/page.html"), what="the page")
    assert await box.exit_code(server) is None
    assert await listening_ports(box) == [3000]
    await box.kill_all()
    assert await box.exit_code(server) == 137
    assert await _text(f"{url}/page.html") == ""


async def test_waiting_for_an_exit_code_ends_with_the_process(box):
    brief = await box.start(("sh", "-c", "exit 7"))
    assert await box.exit_code(brief, wait=True) == 7


async def test_everything_but_what_is_kept_is_killed_with_its_children(box):
    kept = await box.start(("sleep", "1000"))
    other = await box.start(("sh", "-c", "sleep 2000 & sleep 2000"))
    await box.kill_all(keep=[kept])
    assert await box.exit_code(kept) is None
    assert await box.exit_code(other) == 137
    left = await box.run(("sh", "-c", "cat /proc/*/cmdline | tr '\\0' ' '"), limit=60)
    assert "sleep 1000" in left.output
    assert "sleep 2000" not in left.output


async def test_a_daemon_does_not_outlive_those_that_are_killed(box):
    await box.run(("sh", "-c", "trap '' TERM; (setsid sleep 3000 &) & exit 0"), limit=60)
    await box.kill_all()
    left = await box.run(("sh", "-c", "cat /proc/*/cmdline | tr '\\0' ' '"), limit=60)
    assert "sleep 3000" not in left.output


async def test_the_output_of_one_that_never_pauses_is_cut_short(box):
    chatty = await box.start(("sh", "-c", "while :; do echo still here; sleep 0.05; done"))
    async with asyncio.timeout(30):
        assert "still here" in await box.output(chatty, at_most=0.5)


async def test_what_we_read_must_have_an_end(box, monkeypatch):
    monkeypatch.setattr(sandbox, "WHOLE_CHARACTERS", 10_000)
    assert len(await box.read(("seq", "2000"))) == 8893
    with pytest.raises(RepositoryFault, match="more files than the bot can look at"):
        await box.read(("yes",))


async def test_the_output_so_far_is_read_while_it_runs_and_after(box, redactor):
    redactor.add("hunter2-secret")
    running = await box.start(("sh", "-c", "echo one; echo hunter2-secret >&2; exec sleep 1000"))
    await until(lambda: _holds(box, running, "one\n•••\n"), what="the output")
    await box.kill_all()
    assert await box.output(running) == "one\n•••\n"


async def test_a_second_port_is_opened_when_it_is_asked_for(box):
    first, second = await box.route(3000), await box.route(5173)
    assert first != second
    assert (await box.route(3000), await box.route(5173)) == (first, second)


async def test_a_sandbox_that_went_away_is_said_to_be_gone(sandboxes, box, name):
    await sandboxes.destroy(name)
    with pytest.raises((SandboxGone, SandboxUnavailable)):
        await box.run(("true",), limit=60)


async def test_a_wrong_token_is_the_operator_s_fault(engine: EngineProcess, redactor):
    stranger = Sandboxes(engine.url, "wrong", redactor, instance="x", vcpus=1, time_limit=600)
    with pytest.raises(OperatorFault, match="the Sandbox API refuses"):
        await stranger.names()
    await stranger.close()


async def test_missing_credentials_are_the_operator_s_fault(redactor, monkeypatch):
    lost = Sandboxes(None, "", redactor, instance="x", vcpus=1, time_limit=600)
    with pytest.raises(OperatorFault, match=r"no Sandbox credentials: .*Set VERCEL_OIDC_TOKEN"):
        await lost.find("anything")
    await lost.close()


async def test_an_api_that_does_not_answer_is_the_world_s_fault(redactor):
    lost = Sandboxes(f"http://127.0.0.1:{free_port()}/api", "token", redactor, instance="x", vcpus=1, time_limit=600)
    with pytest.raises(SandboxUnavailable):
        await lost.find("anything")
    await lost.close()


async def _text(url: str) -> str:
    async with httpx.AsyncClient(trust_env=False) as client:
        try:
            return (await client.get(url)).text
        except httpx.HTTPError:
            return ""


async def _holds(box: Box, process: str, text: str) -> bool:
    return await box.output(process) == text
