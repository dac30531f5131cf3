"""Short programs that the engine itself runs, inside a sandbox or beside it: their words are not recorded."""

import asyncio
import os
from collections.abc import AsyncIterable, Mapping, Sequence
from dataclasses import dataclass

from bot.engine.guest import Guest
from bot.engine.launcher import Launcher
from bot.engine.overlay import Overlay
from bot.engine.pipes import PipeReader, PipeWriter, make_pipe

_MOST_OUTPUT = 1 << 16
_LIMIT = 300.0
_KILL = 9


@dataclass(frozen=True, slots=True)
class Ended:
    """`output` is the beginning of standard output and error together."""

    code: int
    output: str


async def run_errand(
    guest: Guest,
    argv: Sequence[str],
    *,
    owner: int,
    cwd: str,
    env: Mapping[str, str],
    feed: AsyncIterable[bytes] | None = None,
) -> Ended:
    """Run to the end, at most five minutes. Raises `GuestError` if it cannot start, `TimeoutError`."""
    collected, exited = bytearray(), asyncio.get_running_loop().create_future()

    def receive(data: bytes) -> None:
        collected.extend(data[: _MOST_OUTPUT - len(collected)])

    their_input, our_input = make_pipe(owner)
    our_output, their_output = make_pipe(owner)
    reader, writer = PipeReader(our_output, receive), PipeWriter(our_input)
    try:
        try:
            number = await guest.run(
                argv, cwd=cwd, env=env, streams=[their_input, their_output, their_output], on_exit=exited.set_result
            )
        finally:
            os.close(their_input)
            os.close(their_output)
        try:
            async with asyncio.timeout(_LIMIT):
                await _feed(writer, feed)
                code = await asyncio.shield(exited)  # who ends it may still set it
        except BaseException:
            await guest.kill(number, _KILL)
            raise
        reader.drain()
        return Ended(code, collected.decode(errors="replace"))
    finally:
        reader.close()
        writer.close()


async def run_on_host(
    launcher: Launcher,
    argv: Sequence[str],
    *,
    env: Mapping[str, str] | None = None,
    folder: str | None = None,
    overlay: Overlay | None = None,
    as_root: bool = False,
) -> Ended:
    """Run a program of the host as the sandboxes' user, to its end or until this is cancelled.

    `overlay` and `as_root` are as in `Launcher.command`.
    """
    collected = bytearray()
    reading, writing = os.pipe2(os.O_CLOEXEC)
    nothing = os.open(os.devnull, os.O_RDWR | os.O_CLOEXEC)
    reader = PipeReader(reading, lambda data: collected.extend(data[: _MOST_OUTPUT - len(collected)]))
    try:
        try:
            streams = [nothing, writing, writing]
            launched = await launcher.command(
                argv, env=env or {}, folder=folder, streams=streams, overlay=overlay, as_root=as_root
            )
        finally:
            os.close(writing)
            os.close(nothing)
        try:
            code = await asyncio.shield(launched.ended)
        except asyncio.CancelledError:
            await launcher.kill(launched)
            raise
        reader.drain()
        return Ended(code, collected.decode(errors="replace"))
    finally:
        reader.close()


async def _feed(writer: PipeWriter, feed: AsyncIterable[bytes] | None) -> None:
    """Give it its input; that it stops reading early shows in its exit code."""
    try:
        if feed is not None:
            async for chunk in feed:
                await writer.write(chunk)
    except BrokenPipeError:
        pass
    finally:
        writer.close()
