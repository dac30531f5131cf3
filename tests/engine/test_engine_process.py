"""The engine as a process: how it starts, ends, dies and comes back."""

import asyncio
import os
import signal
import subprocess
import sys
from pathlib import Path

import httpx
import pytest
from engine_process import EngineProcess, is_alive, wait_until
from vercel.sandbox import SandboxApiError, SandboxStatus

from bot.engine.isolation import check_isolation

pytestmark = pytest.mark.bwrap


async def test_it_announces_itself_in_one_line(engine: EngineProcess) -> None:
    assert engine.announcement == {"event": "listening", "url": engine.url, "pid": engine.process.pid}
    async with httpx.AsyncClient() as http:
        assert (await http.get(engine.url.removesuffix("/api") + "/health")).status_code == 200


def test_a_second_engine_on_the_same_data_is_refused(engine: EngineProcess) -> None:
    with pytest.raises(AssertionError, match="another engine works in"):
        EngineProcess(engine.data)


def test_a_taken_port_is_worth_another_try(engine: EngineProcess, tmp_path: Path) -> None:
    port = engine.url.split(":")[2].split("/")[0]
    command = [sys.executable, "-m", "bot.engine", "--data", str(tmp_path), "--port", port, "--token", "t"]
    assert subprocess.run(command, capture_output=True, check=False).returncode == 75


def test_without_a_token_it_does_not_start(tmp_path: Path) -> None:
    environment = {name: value for name, value in os.environ.items() if name != "PREVIEW_ENGINE_TOKEN"}
    command = [sys.executable, "-m", "bot.engine", "--data", str(tmp_path)]
    assert subprocess.run(command, capture_output=True, check=False, env=environment).returncode == 2


async def test_stopping_it_ends_everything_cleanly(tmp_path: Path) -> None:
    engine = EngineProcess(tmp_path)
    client = engine.client()
    sandbox = await client.create_sandbox(name="kept", persistent=True, ports=[3000])
    process = await sandbox.create_process("sleep", ["1000"])
    offspring = engine.offspring()
    assert offspring
    waiting = asyncio.create_task(process.wait())
    assert await asyncio.to_thread(engine.stop) == 0
    assert not [pid for pid in offspring if is_alive(pid)]
    assert await waiting == 137
    await client.aclose()


async def test_killing_it_leaves_no_process(tmp_path: Path) -> None:
    engine = EngineProcess(tmp_path)
    client = engine.client()
    sandbox = await client.create_sandbox(name="doomed", persistent=True)
    await sandbox.create_process("sh", ["-c", "setsid sleep 1000 & sleep 1000"])
    offspring = engine.offspring()
    assert len(offspring) >= 4
    await asyncio.to_thread(engine.kill)
    wait_until(lambda: not [pid for pid in offspring if is_alive(pid)])
    await client.aclose()


@pytest.mark.parametrize("ending", ["stop", "kill"])
async def test_a_new_engine_takes_over_the_sandboxes_as_stopped(tmp_path: Path, ending: str) -> None:
    first = EngineProcess(tmp_path)
    client = first.client()
    sandbox = await client.create_sandbox(name="kept", persistent=True, ports=[3000], tags={"a": "b"})
    await sandbox.fs.write_text("file", "content")
    done = await sandbox.create_process("echo", ["said"])
    await done.wait()
    running = await sandbox.create_process("sleep", ["1000"])
    url = sandbox.routes[0].url
    await asyncio.to_thread(getattr(first, ending))
    await client.aclose()

    second = EngineProcess(tmp_path)
    client = second.client()
    try:
        found = await client.get_sandbox(name="kept")
        assert (found.status, found.tags) == (SandboxStatus.STOPPED, {"a": "b"})
        assert found.routes[0].url == url
        session = found.current_session
        assert (await (await session.get_process(done.id)).communicate())[0] == "said\n"
        assert await (await session.get_process(running.id)).wait() == 137
        assert await found.fs.read_text("file") == "content"
        await found.destroy()
        with pytest.raises(SandboxApiError):
            await client.get_sandbox(name="kept")
    finally:
        await client.aclose()
        assert second.stop() == 0, second.complaint


async def test_what_was_destroyed_leaves_nothing_on_disk(tmp_path: Path) -> None:
    engine = EngineProcess(tmp_path)
    client = engine.client()
    sandbox = await client.create_sandbox(name="gone", persistent=True)
    await sandbox.run_process("sh", ["-c", "mkdir -p locked/in; echo x > locked/in/file; chmod 0 locked/in locked"])
    await sandbox.destroy()
    await client.aclose()
    assert await asyncio.to_thread(engine.stop) == 0
    assert list((tmp_path / "sandboxes").iterdir()) == []
    assert list((tmp_path / "trash").iterdir()) == []


async def test_isolation_can_be_checked_without_an_engine(engine: EngineProcess) -> None:
    found = await check_isolation()
    assert found.host_uid != 0
    assert Path(found.python).name.startswith("python3")


async def test_a_reader_of_its_log_that_goes_away_does_not_take_it_along(tmp_path: Path) -> None:
    engine = EngineProcess(tmp_path)
    engine.process.stderr.close()
    engine.process.stdout.close()
    client = engine.client()
    try:
        sandbox = await client.create_sandbox(name="shot", persistent=True)
        process = await sandbox.create_process("sleep", ["1000"])
        for pid in engine.running(b"/run/agent.py"):
            os.kill(pid, signal.SIGKILL)
        assert await process.wait() == 137
        assert (await client.get_sandbox(name="shot")).status in (SandboxStatus.STOPPING, SandboxStatus.ABORTED)
        assert (await sandbox.run_process("echo", ["again"], capture_output=True)).stdout == "again\n"
    finally:
        await client.aclose()
        engine.process.terminate()
        assert engine.process.wait(30) == 0
