"""Messages with file descriptors beside them, over a SEQPACKET socket, without blocking the event loop."""

import asyncio
import json
import os
import socket
from collections.abc import Callable, Sequence
from typing import Any

from bot.engine.descriptors import receive
from bot.engine.errors import AgentGone

Message = dict[str, Any]
_MAX_MESSAGE, _MAX_DESCRIPTORS = 1 << 16, 8


def encode_json(message: Message) -> bytes:
    return json.dumps(message).encode()


class Channel:
    """One end of a pair: `encode` writes, JSON is read.

    Every arriving message goes to `receive(message, descriptors)`; `closed()` is called once.
    The other end may be hostile: what is not a JSON object is dropped, and more descriptors than expected are closed
    by the kernel. The receiver owns the descriptors that it gets.
    """

    def __init__(
        self,
        end: socket.socket,
        receive: Callable[[Message, list[int]], None],
        closed: Callable[[], None],
        *,
        encode: Callable[[Message], bytes] = encode_json,
    ) -> None:
        self._encode = encode
        self._end, self._receive, self._closed = end, receive, closed
        self._sending = asyncio.Lock()
        self._room = asyncio.Event()
        end.settimeout(0)
        self._loop = asyncio.get_running_loop()
        self._loop.add_reader(end.fileno(), self._arrive)

    async def send(self, message: Message, descriptors: Sequence[int] = ()) -> None:
        """Send, waiting while the other end is slow. Raises `AgentGone` when there is no other end."""
        data = self._encode(message)
        async with self._sending:
            while self._end.fileno() >= 0:
                try:
                    socket.send_fds(self._end, [data], list(descriptors))
                except BlockingIOError:
                    await self._wait_for_room()
                except OSError:
                    break
                else:
                    return
        raise AgentGone

    def close(self) -> None:
        if self._end.fileno() < 0:
            return
        self._loop.remove_reader(self._end.fileno())
        self._loop.remove_writer(self._end.fileno())
        self._end.close()
        self._room.set()
        self._closed()

    async def _wait_for_room(self) -> None:
        """Until the other end has read something, or there is no other end."""
        self._room.clear()
        self._loop.add_writer(self._end.fileno(), self._room.set)
        await self._room.wait()
        if self._end.fileno() >= 0:
            self._loop.remove_writer(self._end.fileno())

    def _arrive(self) -> None:
        try:
            data, descriptors = receive(self._end, _MAX_MESSAGE, _MAX_DESCRIPTORS)
        except BlockingIOError:
            return
        except OSError:
            data, descriptors = b"", []
        if not data:
            self.close()
            return
        message = parse(data)
        if message is None:
            close_all(descriptors)
        else:
            self._receive(message, descriptors)


def parse(data: bytes) -> Message | None:
    """A JSON object, or nothing: garbage from inside a sandbox is not worth an exception."""
    try:
        message = json.loads(data)
    except (ValueError, RecursionError):
        return None
    return message if isinstance(message, dict) else None


def close_all(descriptors: Sequence[int]) -> None:
    for descriptor in descriptors:
        os.close(descriptor)


async def writable(end: socket.socket) -> None:
    """Wait until a socket can be written to: for a connecting one, until it is connected or has failed."""
    loop, ready = asyncio.get_running_loop(), asyncio.Event()
    descriptor = end.fileno()
    loop.add_writer(descriptor, ready.set)
    try:
        await ready.wait()
    finally:
        loop.remove_writer(descriptor)
