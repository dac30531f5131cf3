"""Terminals: a command that a person talks to, over a WebSocket."""

import asyncio
import json
from urllib.parse import urlencode

import httpx
import pytest
from engine_process import EngineProcess
from vercel.sandbox import Sandbox
from websockets.asyncio.client import connect
from websockets.exceptions import ConnectionClosed

pytestmark = pytest.mark.bwrap


async def until(pty, words: bytes) -> bytes:
    """What the screen shows up to and with some words."""
    seen = b""
    async with asyncio.timeout(30):
        while words not in seen:
            seen += await pty.stream.receive()
    return seen


async def ticket(engine: EngineProcess, sandbox: Sandbox) -> str:
    """Where to connect, ticket and all."""
    url = f"{engine.url}/v2/sandboxes/sessions/{sandbox.current_session.id}/interactive"
    async with httpx.AsyncClient(headers={"authorization": f"Bearer {engine.token}"}) as http:
        given = (await http.post(url, json={})).json()
    return f"{given['url']}?{urlencode({'token': given['token']})}"


def start(*argv: str, **more: object) -> str:
    return json.dumps({"type": "start", "command": argv[0], "args": argv[1:], **more})


async def rest(socket) -> tuple[bytes, list[dict]]:
    """Everything until the server closes: the screen, and the control frames."""
    screen, control = b"", []
    async with asyncio.timeout(30):
        async for frame in socket:
            if isinstance(frame, bytes):
                screen += frame
            else:
                control.append(json.loads(frame))
    return screen, control


async def test_a_shell_is_talked_to_resized_and_left(sandbox: Sandbox) -> None:
    async with sandbox.open_interactive("bash", ["--norc"], env={"PS1": "$ "}, cols=80, rows=24) as pty:
        await until(pty, b"$ ")
        await pty.stream.send(b"stty size; tty; echo $TERM\n")
        seen = await until(pty, b"xterm-256color\r\n")
        assert b"24 80" in seen
        assert b"/dev/pts/" in seen
        await pty.resize(cols=120, rows=50)
        await pty.stream.send(b"stty size\n")
        await until(pty, b"50 120")
        await pty.stream.send(b"exit 7\n")
        assert await pty.wait() == 7


async def test_its_keys_reach_the_running_command(engine: EngineProcess, sandbox: Sandbox) -> None:
    async with connect(await ticket(engine, sandbox)) as socket:
        await socket.send(
            start("bash", "-c", "trap 'echo caught; exit 3' INT; echo ready; while :; do sleep 0.05; done")
        )
        assert await socket.recv() == b"ready\r\n"
        await socket.send(b"\x03")
        screen, control = await rest(socket)
    assert b"caught" in screen
    assert control == [{"type": "exit", "code": 3}]


async def test_environment_and_directory_are_as_asked_for(engine: EngineProcess, sandbox: Sandbox) -> None:
    await sandbox.fs.mkdir("there")
    async with connect(await ticket(engine, sandbox)) as socket:
        await socket.send(start("sh", "-c", "pwd; echo $WORD; sudo id -un", cwd="there", env=["WORD=a=b"]))
        screen, control = await rest(socket)
    assert screen == b"/vercel/sandbox/there\r\na=b\r\nvercel-sandbox\r\n"
    assert control == [{"type": "exit", "code": 0}]


async def test_all_of_a_flood_arrives(engine: EngineProcess, sandbox: Sandbox) -> None:
    async with connect(await ticket(engine, sandbox), max_size=None) as socket:
        await socket.send(start("sh", "-c", "stty -opost; seq 200000"))
        screen, _ = await rest(socket)
    assert screen == b"".join(b"%d\n" % n for n in range(1, 200001))


async def test_a_terminal_that_is_closed_hangs_its_command_up(engine: EngineProcess, sandbox: Sandbox) -> None:
    async with connect(await ticket(engine, sandbox)) as socket:
        await socket.send(start("sh", "-c", "echo up; sleep 4242"))
        assert await socket.recv() == b"up\r\n"
    async with asyncio.timeout(30):
        while "4242" in (await sandbox.run_process("ps", ["ax", "-o", "args="], capture_output=True)).stdout:
            await asyncio.sleep(0.02)


async def test_a_command_s_end_is_told_though_its_child_keeps_the_terminal(engine, sandbox: Sandbox) -> None:
    async with connect(await ticket(engine, sandbox)) as socket:
        await socket.send(start("bash", "-c", "trap '' HUP; sleep 4243 & echo over"))
        screen, control = await rest(socket)
    assert (screen, control) == (b"over\r\n", [{"type": "exit", "code": 0}])


async def test_a_ticket_is_good_once_and_a_wrong_one_never(engine: EngineProcess, sandbox: Sandbox) -> None:
    place = await ticket(engine, sandbox)
    async with connect(place) as socket:
        await socket.send(start("true"))
        await rest(socket)
    for url in (place, place.partition("?")[0], place.partition("?")[0] + "?token=guess"):
        async with connect(url) as socket:
            with pytest.raises(ConnectionClosed) as closed:
                await socket.recv()
        assert (closed.value.rcvd.code, closed.value.rcvd.reason) == (1008, "the ticket is not valid")


@pytest.mark.parametrize(
    ("frame", "reason"),
    [
        (start("no-such-program"), "no-such-program"),
        (start("true", cwd="/nowhere"), "/nowhere"),
        ("garbage", "understood"),
        (json.dumps({"type": "start", "command": "true", "cols": 0}), "understood"),
    ],
)
async def test_what_cannot_start_is_said(engine: EngineProcess, sandbox: Sandbox, frame: str, reason: str) -> None:
    async with connect(await ticket(engine, sandbox)) as socket:
        await socket.send(frame)
        with pytest.raises(ConnectionClosed) as closed:
            await socket.recv()
    assert closed.value.rcvd.code == 1008
    assert reason in closed.value.rcvd.reason


async def test_a_terminal_ends_with_its_sandbox(engine: EngineProcess, sandbox: Sandbox) -> None:
    async with connect(await ticket(engine, sandbox)) as socket:
        await socket.send(start("sh", "-c", "echo up; sleep 1000"))
        assert await socket.recv() == b"up\r\n"
        await sandbox.stop()
        _, control = await rest(socket)
    assert control == [{"type": "exit", "code": 137}]
