"""The engine's end of a sandbox whose PID 1 lies."""

import asyncio
import json
import marshal
import os
import socket
from contextlib import asynccontextmanager

import pytest

from bot.engine import guest as guest_module
from bot.engine.errors import AgentGone
from bot.engine.guest import KILLED, Guest, GuestError


@asynccontextmanager
async def hostile_agent(answer):
    """A guest whose requests are answered by `answer(request) -> (message, descriptors)`."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    guest = Guest(ours)
    loop = asyncio.get_running_loop()
    theirs.settimeout(0)

    def hear() -> None:
        data, descriptors, _, _ = socket.recv_fds(theirs, 1 << 16, 8)
        for descriptor in descriptors:
            os.close(descriptor)
        if not data:
            loop.remove_reader(theirs)
            return
        message, sent = answer(marshal.loads(data))
        if message is not None:
            socket.send_fds(theirs, [message if isinstance(message, bytes) else json.dumps(message).encode()], sent)

    loop.add_reader(theirs, hear)
    try:
        yield guest, theirs
    finally:
        loop.remove_reader(theirs)
        theirs.close()
        guest.close()


def ok(request: dict, **more: object) -> dict:
    return {"event": "answer", "id": request["id"], **more}


async def test_a_descriptor_that_is_no_file_is_refused_and_closed() -> None:
    reading, writing = os.pipe()
    before = len(os.listdir("/proc/self/fd"))
    async with hostile_agent(lambda request: (ok(request), [reading])) as (guest, _):
        with pytest.raises(GuestError):
            await guest.open("/etc/passwd")
        assert len(os.listdir("/proc/self/fd")) == before + 2  # the pair of sockets
    os.close(reading)
    os.close(writing)


async def test_more_or_fewer_descriptors_than_asked_for_are_refused() -> None:
    for count in (0, 2):
        descriptors = [os.open("/dev/null", os.O_RDONLY) for _ in range(count)]
        async with hostile_agent(lambda request, sent=descriptors: (ok(request), sent)) as (guest, _):
            with pytest.raises(GuestError):
                await guest.open("/file")
        for descriptor in descriptors:
            os.close(descriptor)


async def test_a_connection_that_is_no_tcp_socket_is_refused() -> None:
    one, other = socket.socketpair()
    async with hostile_agent(lambda request: (ok(request), [one.fileno()])) as (guest, _):
        with pytest.raises(ConnectionRefusedError):
            await guest.connect(80)
    one.close()
    other.close()


@pytest.mark.parametrize(
    "noise",
    [
        *(b"\xff\xfe", b"[]", b"null", b"{", b'{"event": 5}', b'{"event": "answer", "id": "x"}', b"[" * 30_000),
        *(b'{"event": "exit"}', b'{"event": "exit", "command": 99, "code": 0}'),
        b'{"event": "network", "redirected": "maybe"}',
    ],
)
async def test_noise_is_dropped_and_the_next_answer_counts(noise: bytes) -> None:
    async with hostile_agent(lambda request: (ok(request), [])) as (guest, theirs):
        theirs.send(noise)
        await guest.kill(1, 9)


@pytest.mark.parametrize("number", ["2", -1, 99999, None, True])
async def test_an_error_number_that_is_none_is_a_protocol_error(number: object) -> None:
    async with hostile_agent(lambda request: (ok(request, errno=number, step=[]), [])) as (guest, _):
        with pytest.raises(GuestError):
            await guest.kill(1, 9)


async def test_an_answer_that_never_comes_is_not_waited_for_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(guest_module, "_ANSWER_LIMIT", 0.05)
    async with hostile_agent(lambda request: (None, [])) as (guest, _):
        with pytest.raises(TimeoutError):
            await guest.kill(1, 9)


async def test_when_pid_1_goes_commands_end_and_who_waits_is_told() -> None:
    codes: list[int] = []
    async with hostile_agent(lambda request: (ok(request) if request["do"] == "run" else None, [])) as (guest, theirs):
        nothing = os.open("/dev/null", os.O_RDWR)
        await guest.run(["true"], cwd="/", env={}, streams=[nothing] * 3, on_exit=codes.append)
        os.close(nothing)
        waiting = asyncio.create_task(guest.kill(1, 9))
        await asyncio.sleep(0)
        theirs.shutdown(socket.SHUT_RDWR)
        with pytest.raises(AgentGone):
            await waiting
        await guest.gone.wait()
    assert codes == [KILLED]


async def test_an_exit_code_stays_a_byte() -> None:
    codes: list[int] = []
    async with hostile_agent(lambda request: (ok(request), [])) as (guest, theirs):
        nothing = os.open("/dev/null", os.O_RDWR)
        number = await guest.run(["true"], cwd="/", env={}, streams=[nothing] * 3, on_exit=codes.append)
        os.close(nothing)
        theirs.send(json.dumps({"event": "exit", "command": number, "code": 10**9}).encode())
        await guest.kill(1, 9)
    assert codes == [10**9 & 0xFF]
