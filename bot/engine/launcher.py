"""The engine's end of the zygote: start a sandbox or a host command as the unprivileged user, learn when it ended."""

import asyncio
import itertools
import os
import socket
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from bot.engine.channel import Channel, Message, close_all
from bot.engine.errors import AgentGone, EngineError
from bot.engine.overlay import Overlay

_PACKAGE_ROOT = Path(__file__).resolve().parents[2]
_PROGRAM = ("-m", "bot.engine.zygote")
_START_LIMIT = 20.0


@dataclass(frozen=True, slots=True)
class Launched:
    """Something that the zygote started: its process id, and its exit status, negative for a signal."""

    id: int
    ended: asyncio.Future[int]
    pid: asyncio.Future[int]


class Launcher:
    """Make with `Launcher.start`. All of what it started ends with it, and it ends with this process."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self._process = process
        self._ids = itertools.count(1)
        self._running: dict[int, Launched] = {}
        self._ready: asyncio.Future[dict[str, str]] = asyncio.get_running_loop().create_future()
        self.gone = asyncio.Event()
        self.folders: dict[str, str] = {}
        self._channel: Channel

    @classmethod
    async def start(cls, *, user: int, folders: Mapping[str, Path]) -> "Launcher":
        """Start the zygote. `folders` are made reachable for `user`; `self.folders` then says where each one is.

        The fork happens in the event loop's own thread: bubblewrap's `--die-with-parent` follows the thread that
        started it, and the zygote must not depend on a worker thread either.
        """
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        pairs = [f"{name}={path}" for name, path in folders.items()]
        command = [sys.executable, *_PROGRAM, str(theirs.fileno()), str(user), *pairs]
        process = subprocess.Popen(  # noqa: ASYNC220 - see above
            command,
            pass_fds=[theirs.fileno()],
            env={"PYTHONPATH": str(_PACKAGE_ROOT), "PATH": os.defpath},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            cwd="/",
            start_new_session=True,
        )
        theirs.close()
        launcher = cls(process)
        launcher._channel = Channel(ours, launcher._receive, launcher._closed)
        try:
            launcher.folders = await asyncio.wait_for(asyncio.shield(launcher._ready), _START_LIMIT)
        except (TimeoutError, AgentGone) as error:
            await launcher.close()
            raise EngineError("the process that starts sandboxes did not come up; its error is above") from error
        return launcher

    async def sandbox(
        self,
        argv: Sequence[str],
        *,
        limits: Mapping[str, int],
        doors: Sequence[str],
        descriptors: Sequence[int],
        overlays: Sequence[Overlay] = (),
    ) -> Launched:
        """Start bubblewrap in a fresh user and network namespace, below the control groups that `doors` lead into.

        `descriptors` are as in `zygote._become_sandbox`; `overlays` are mounted for it first.
        """
        request = {"do": "sandbox", "argv": list(argv), "limits": dict(limits), "doors": list(doors)}
        return await self._launch({**request, **_mounted(overlays)}, descriptors)

    async def command(
        self,
        argv: Sequence[str],
        *,
        env: Mapping[str, str],
        folder: str | None,
        streams: Sequence[int],
        overlay: Overlay | None = None,
        as_root: bool = False,
    ) -> Launched:
        """Start a program of the host with exactly `env`; `streams` are its standard input, output and error.

        It may do what it likes with the unprivileged user's files `as_root` of namespaces of its own; an `overlay` is
        mounted there.
        """
        rooted = as_root or overlay is not None
        request = {"do": "command", "argv": list(argv), "env": dict(env), "folder": folder, "as_root": rooted}
        return await self._launch({**request, **_mounted([overlay] if overlay else [])}, streams)

    async def kill(self, launched: Launched) -> None:
        """End it and its process group, and wait until it is gone."""
        if not launched.ended.done():
            await self._channel.send({"do": "kill", "id": launched.id})
        await asyncio.wait([launched.ended])

    async def close(self) -> None:
        self._channel.close()
        await asyncio.to_thread(self._process.wait)

    async def _launch(self, request: Message, descriptors: Sequence[int]) -> Launched:
        loop = asyncio.get_running_loop()
        launched = Launched(next(self._ids), loop.create_future(), loop.create_future())
        self._running[launched.id] = launched
        await self._channel.send({**request, "id": launched.id}, descriptors)
        return launched

    def _receive(self, message: Message, descriptors: list[int]) -> None:
        close_all(descriptors)
        if message["event"] == "ready":
            self._ready.set_result(message["folders"])
        elif message["event"] == "started":
            self._running[message["id"]].pid.set_result(message["pid"])
        elif message["event"] == "exit":
            ended = self._running.pop(message["id"]).ended
            if not ended.cancelled():
                ended.set_result(message["code"])

    def _closed(self) -> None:
        self.gone.set()
        if not self._ready.done():
            self._ready.set_exception(AgentGone())
        for launched in self._running.values():
            if not launched.ended.done():
                launched.ended.set_result(-9)
        self._running.clear()


def _mounted(overlays: Sequence[Overlay]) -> Message:
    return {"overlays": [dict(overlay.request()) for overlay in overlays]}
