"""Connections of a listener, each served by a task of its own, bounded in number."""

import asyncio
import socket
from collections.abc import Callable, Coroutine
from typing import Any

import structlog

log = structlog.get_logger()
_MOST_CONNECTIONS = 512  # further ones wait in the kernel's queue
_PAUSE = 0.2  # before accepting again when this process is out of descriptors


class Acceptor:
    """Owns `listener`. `serve` gets each connection, owns it, and must not raise."""

    def __init__(self, listener: socket.socket, serve: Callable[[socket.socket], Coroutine[Any, Any, None]]) -> None:
        listener.settimeout(0)
        self.listener = listener
        self._serve = serve
        self._room = asyncio.Semaphore(_MOST_CONNECTIONS)
        self.tasks: set[asyncio.Task[None]] = set()
        self._accepting = asyncio.create_task(self._accept())

    async def cut(self) -> None:
        """End all connections, and go on listening."""
        for task in list(self.tasks):
            task.cancel()
        await asyncio.gather(*self.tasks, return_exceptions=True)

    async def close(self) -> None:
        self._accepting.cancel()
        await asyncio.gather(self._accepting, return_exceptions=True)
        await self.cut()
        self.listener.close()

    async def _accept(self) -> None:
        loop = asyncio.get_running_loop()
        while True:
            await self._room.acquire()
            try:
                connection, _ = await loop.sock_accept(self.listener)
            except OSError as error:
                self._room.release()
                log.warning("cannot accept", reason=str(error))
                await asyncio.sleep(_PAUSE)
                continue
            connection.settimeout(0)
            task = asyncio.create_task(self._serve(connection))
            self.tasks.add(task)
            task.add_done_callback(self._forget)

    def _forget(self, task: asyncio.Task[None]) -> None:
        self.tasks.discard(task)
        self._room.release()
