"""A command on a terminal of its own inside a sandbox: its screen as bytes, its keyboard, its size and its end."""

import asyncio
import os
import struct
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from fcntl import ioctl
from termios import TIOCSWINSZ

from bot.engine.guest import Guest
from bot.engine.pipes import PipeWriter

_CHUNK = 1 << 14
_SIGHUP, _SIGKILL = 1, 9


class Terminal:
    """Make with `open_terminal`. `ended` is the command's exit code."""

    def __init__(self, descriptor: int) -> None:
        self.ended: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        self._descriptor = descriptor
        self._keyboard = PipeWriter(os.dup(descriptor))
        self._news = asyncio.Event()
        os.set_blocking(descriptor, False)
        asyncio.get_running_loop().add_reader(descriptor, self._wake)
        self.ended.add_done_callback(lambda _: self._news.set())

    async def screen(self) -> AsyncIterator[bytes]:
        """All that is written to it until the command has ended."""
        while True:
            try:
                data = os.read(self._descriptor, _CHUNK)
            except BlockingIOError:
                if self.ended.done():
                    return
                await self._wait()
                continue
            except OSError:  # EIO: nobody has the terminal open any more
                return
            yield data

    async def type(self, data: bytes) -> None:
        """Raises `OSError` when nobody has the terminal open any more."""
        await self._keyboard.write(data)

    def resize(self, columns: int, rows: int) -> None:
        """The command gets SIGWINCH."""
        ioctl(self._descriptor, TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def close(self) -> None:
        asyncio.get_running_loop().remove_reader(self._descriptor)
        self._keyboard.close()
        os.close(self._descriptor)

    def _wake(self) -> None:
        """Say once that there is something: what is not read yet would say it again and again."""
        asyncio.get_running_loop().remove_reader(self._descriptor)
        self._news.set()

    async def _wait(self) -> None:
        self._news.clear()
        if not self.ended.done():
            asyncio.get_running_loop().add_reader(self._descriptor, self._wake)
            await self._news.wait()


@asynccontextmanager
async def open_terminal(
    guest: Guest, argv: Sequence[str], *, cwd: str, env: Mapping[str, str], columns: int, rows: int
) -> AsyncIterator[Terminal]:
    """Run a command on a new terminal; it is hung up when the block ends. Raises `GuestError` if it cannot start."""
    ours, theirs = await guest.open_terminal()
    terminal = Terminal(ours)
    number = None
    try:
        try:
            terminal.resize(columns, rows)
            streams = [theirs] * 3
            number = await guest.run(
                argv, cwd=cwd, env=env, streams=streams, on_exit=terminal.ended.set_result, terminal=True
            )
        finally:
            os.close(theirs)
        yield terminal
    finally:
        terminal.close()
        if number is not None and not terminal.ended.done():
            await guest.kill(number, _SIGHUP)
            await guest.kill(number, _SIGKILL)
