"""The engine's hold on one running sandbox: requests to its PID 1, which is not to be trusted with the answers."""

import asyncio
import errno
import itertools
import marshal
import os
import socket
import stat
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from bot.engine.channel import Channel, Message, close_all, writable
from bot.engine.errors import AgentGone

_ANSWER_LIMIT = 30.0
KILLED = 128 + 9


class GuestError(Exception):
    """PID 1 refused: `number` is the errno, `step` where a command's start failed (cwd, executable, start)."""

    def __init__(self, number: int, step: str | None = None) -> None:
        super().__init__(os.strerror(number))
        self.number, self.step = number, step


class Guest:
    """Made before the sandbox is launched; usable once `ready` is set. `gone` is set when the sandbox ended."""

    def __init__(self, control: socket.socket) -> None:
        self._ids = itertools.count(1)
        self._waiting: dict[int, asyncio.Future[tuple[Message, list[int]]]] = {}
        self._exits: dict[int, Callable[[int], None]] = {}
        self.network: list[int] = []
        self.redirected = True
        self.ready = asyncio.Event()
        self.gone = asyncio.Event()
        self._channel = Channel(control, self._receive, self._closed, encode=_encode)

    async def run(
        self,
        argv: Sequence[str],
        *,
        cwd: str,
        env: Mapping[str, str],
        streams: Sequence[int],
        on_exit: Callable[[int], None],
        terminal: bool = False,
    ) -> int:
        """Start a command and return its number; `on_exit` gets its exit code, 137 if it ends with the sandbox.

        `streams` are standard input, output and error; with `terminal` they are one, which becomes its own. Raises
        `GuestError` if the command cannot start.
        """
        number = next(self._ids)
        description = memory_file(_encode({"argv": list(argv), "cwd": cwd, "env": dict(env), "terminal": terminal}))
        self._exits[number] = on_exit
        try:
            await self._ask({"do": "run", "command": number}, [description, *streams])
        except BaseException:
            self._exits.pop(number, None)
            raise
        finally:
            os.close(description)
        return number

    async def kill(self, number: int, signal: int) -> None:
        """Signal a command's process group; one that has ended is fine."""
        try:
            await self._ask({"do": "kill", "command": number, "signal": signal})
        except GuestError as error:
            if error.number != errno.ESRCH:
                raise

    async def open(self, path: str) -> int:
        """Open a regular file for reading. Raises `GuestError` for anything else."""
        descriptor = await self._ask_for_descriptor({"do": "open", "path": path})
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            os.close(descriptor)
            raise GuestError(errno.EINVAL)
        return descriptor

    async def open_terminal(self) -> tuple[int, int]:
        """A terminal inside: our end, and the command's. Raises `GuestError`."""
        _, descriptors = await self._ask_for_all({"do": "terminal"})
        if len(descriptors) != 2 or not all(os.isatty(descriptor) for descriptor in descriptors):
            close_all(descriptors)
            raise GuestError(errno.EPROTO)
        ours, theirs = descriptors
        return ours, theirs

    async def connect(self, port: int) -> socket.socket:
        """Connect to a port inside, on 127.0.0.1 or else on ::1. Raises `OSError` when nothing listens there."""
        try:
            return await self._connect(port, "inet")
        except ConnectionRefusedError:
            return await self._connect(port, "inet6")

    def close(self) -> None:
        """Let the sandbox go: PID 1 ends when its socket does."""
        self._channel.close()

    async def _connect(self, port: int, family: str) -> socket.socket:
        try:
            descriptor = await self._ask_for_descriptor({"do": "connect", "port": port, "family": family})
        except GuestError as error:
            raise OSError(error.number, str(error)) from error
        if not stat.S_ISSOCK(os.fstat(descriptor).st_mode):
            os.close(descriptor)
            raise ConnectionRefusedError
        connection = socket.socket(fileno=descriptor)
        try:
            connection.settimeout(0)
            await _connected(connection)
        except BaseException:
            connection.close()
            raise
        return connection

    async def _ask_for_descriptor(self, request: Message) -> int:
        _, descriptors = await self._ask_for_all(request)
        if len(descriptors) != 1:
            close_all(descriptors)
            raise GuestError(errno.EPROTO)
        return descriptors[0]

    async def _ask(self, request: Message, descriptors: Sequence[int] = ()) -> Message:
        answer, received = await self._ask_for_all(request, descriptors)
        close_all(received)
        return answer

    async def _ask_for_all(self, request: Message, descriptors: Sequence[int] = ()) -> tuple[Message, list[int]]:
        request_id = next(self._ids)
        waiting: asyncio.Future[tuple[Message, list[int]]] = asyncio.get_running_loop().create_future()
        self._waiting[request_id] = waiting
        try:
            await self._channel.send({**request, "id": request_id}, descriptors)
            answer, received = await asyncio.wait_for(waiting, _ANSWER_LIMIT)
        finally:
            self._waiting.pop(request_id, None)
        if "errno" in answer:
            close_all(received)
            raise GuestError(_integer(answer["errno"]), _text(answer.get("step")))
        return answer, received

    def _receive(self, message: Message, descriptors: list[int]) -> None:
        match message:
            case {"event": "answer", "id": int(request_id)} if request_id in self._waiting:
                waiting = self._waiting.pop(request_id)
                if not waiting.done():
                    waiting.set_result((message, descriptors))
                    return
            case {"event": "exit", "command": int(number), "code": int(code)} if number in self._exits:
                self._exits.pop(number)(code & 0xFF)
            case {"event": "network", "redirected": bool(redirected)} if not self.ready.is_set():
                self.network, self.redirected = descriptors, redirected
                return
            case {"event": "ready"}:
                self.ready.set()
        close_all(descriptors)

    def _closed(self) -> None:
        self.gone.set()
        for waiting in self._waiting.values():
            if not waiting.done():
                waiting.set_exception(AgentGone())
        for on_exit in list(self._exits.values()):
            on_exit(KILLED)
        self._exits.clear()


async def _connected(connection: socket.socket) -> None:
    """Raises `OSError` when it is no TCP socket or the connection fails."""
    if connection.family not in (socket.AF_INET, socket.AF_INET6) or connection.type != socket.SOCK_STREAM:
        raise ConnectionRefusedError
    await asyncio.wait_for(writable(connection), _ANSWER_LIMIT)
    if number := connection.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR):
        raise OSError(number, os.strerror(number))


def memory_file(content: bytes) -> int:
    """A descriptor that reads `content` from its start, and leaves no file anywhere."""
    descriptor = os.memfd_create("preview", os.MFD_CLOEXEC)
    os.write(descriptor, content)
    os.lseek(descriptor, 0, os.SEEK_SET)
    return descriptor


def _encode(message: Message) -> bytes:
    """As the agent reads it fastest, in a version that every Python 3 knows."""
    return marshal.dumps(message, 2)


def _integer(value: Any) -> int:
    return value if isinstance(value, int) and 0 < value < 4096 else errno.EPROTO


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) else None
