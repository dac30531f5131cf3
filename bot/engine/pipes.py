"""Pipes between the engine and a command in a sandbox, without blocking the event loop."""

import asyncio
import os
from collections.abc import Callable

_CHUNK = 1 << 16
_LARGEST_PIPE = 1 << 20  # /proc/sys/fs/pipe-max-size


def make_pipe(owner: int) -> tuple[int, int]:
    """A pipe of which the command may have either end. It belongs to `owner`, or `/dev/stdout` could not be opened."""
    reading, writing = os.pipe2(os.O_CLOEXEC)
    if os.getuid() == 0:
        os.fchown(reading, owner, owner)
    return reading, writing


class PipeReader:
    """Owns the reading end: `receive(data)` for all that arrives, then `receive(b"")` once at the end."""

    def __init__(self, descriptor: int, receive: Callable[[bytes], None]) -> None:
        self._descriptor, self._receive = descriptor, receive
        self.ended = False
        os.set_blocking(descriptor, False)
        asyncio.get_running_loop().add_reader(descriptor, self._read)

    def drain(self) -> None:
        """Take what is there now, and no more than a pipe can hold: somebody may still be writing."""
        for _ in range(_LARGEST_PIPE // _CHUNK + 1):
            if self.ended or not self._read():
                return

    def close(self) -> None:
        if not self.ended:
            self.ended = True
            asyncio.get_running_loop().remove_reader(self._descriptor)
            os.close(self._descriptor)

    def _read(self) -> bool:
        try:
            data = os.read(self._descriptor, _CHUNK)
        except BlockingIOError:
            return False
        if not data:
            self.close()
        self._receive(data)
        return True


class PipeWriter:
    """Owns the writing end. `written` counts bytes since the start, so that a repeated request writes nothing twice."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._lock = asyncio.Lock()
        self._room = asyncio.Event()
        self.written = 0
        self.closed = False
        os.set_blocking(descriptor, False)

    async def write(self, data: bytes, offset: int | None = None) -> None:
        """Write all of `data`, or what of it lies beyond `written` if it starts at `offset`.

        Raises `BrokenPipeError` when nobody reads any more.
        """
        async with self._lock:
            rest = memoryview(data)[max(0, self.written - offset) :] if offset is not None else memoryview(data)
            while rest:
                if self.closed:
                    raise BrokenPipeError
                try:
                    count = os.write(self._descriptor, rest[:_CHUNK])
                except BlockingIOError:
                    await self._wait_for_room()
                    continue
                self.written += count
                rest = rest[count:]

    def close(self) -> None:
        if not self.closed:
            self.closed = True
            asyncio.get_running_loop().remove_writer(self._descriptor)
            os.close(self._descriptor)
            self._room.set()

    async def _wait_for_room(self) -> None:
        """Until the command has read something, or the pipe is closed."""
        loop = asyncio.get_running_loop()
        self._room.clear()
        loop.add_writer(self._descriptor, self._room.set)
        await self._room.wait()
        if not self.closed:
            loop.remove_writer(self._descriptor)
