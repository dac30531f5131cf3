"""One running sandbox: bubblewrap launched, PID 1 answering, the way out under its policy."""

import asyncio
import os
import socket
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from bot.engine import bubblewrap, rootfs
from bot.engine.bubblewrap import Bind, Mounts
from bot.engine.cgroups import Group
from bot.engine.destinations import Gateway
from bot.engine.egress import Egress
from bot.engine.errors import AgentGone, LaunchError
from bot.engine.guest import Guest, memory_file
from bot.engine.launcher import Launched, Launcher
from bot.engine.overlay import Overlay
from bot.engine.policy import NetworkPolicy
from bot.engine.rootfs import Rootfs
from bot.engine.seccomp import build_filter

_START_LIMIT = 20.0
_END_LIMIT = 10.0
_NO_GATEWAY = Gateway()


@dataclass(frozen=True, slots=True)
class Box:
    """Alive from `launch` until `close`; `guest.gone` is set if it ends by itself."""

    guest: Guest
    egress: Egress
    _launched: Launched
    _launcher: Launcher
    _group: Group | None

    @property
    def pid(self) -> int:
        """The host's number of the process that all others of the sandbox descend from."""
        return self._launched.pid.result()

    async def close(self) -> None:
        """End every process in it; returns when the kernel has."""
        self.guest.close()
        done, _ = await asyncio.wait([self._launched.ended], timeout=_END_LIMIT)
        if not done:
            await self._launcher.kill(self._launched)
        await self.egress.close()
        if self._group:
            self._group.remove()


async def launch(
    launcher: Launcher,
    surroundings: Rootfs,
    *,
    disk: str,
    limits: Mapping[str, int],
    policy: NetworkPolicy,
    group: Group | None = None,
    gateway: Gateway = _NO_GATEWAY,
    overlays: Sequence[Overlay] = (),
    binds: Sequence[Bind] = (),
) -> Box:
    """Start a sandbox on `disk` (a path as the launcher sees it), whose whole is limited by `group`.

    `overlays` appear for this sandbox alone; `binds` are those that only it has.

    Raises `LaunchError` with the kernel's own words.
    """
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    complaints, their_complaints = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)
    guest = Guest(ours)
    sent = [their_complaints, theirs.detach(), *_descriptions(launcher, surroundings, disk, binds)]
    argv = bubblewrap.command(_place(launcher, surroundings.bwrap), surroundings.python)
    try:
        doors = group.doors if group else []
        launched = await launcher.sandbox(argv, limits=limits, doors=doors, descriptors=sent, overlays=overlays)
    except AgentGone:
        guest.close()
        os.close(complaints)
        raise
    finally:
        for descriptor in sent:
            os.close(descriptor)
    try:
        await _until_ready(guest)
        names, *listeners = [socket.socket(fileno=descriptor) for descriptor in guest.network]
        guest.network.clear()
        return Box(
            guest,
            Egress(names, listeners, policy, redirected=guest.redirected, gateway=gateway),
            launched,
            launcher,
            group,
        )
    except BaseException as error:
        guest.close()
        await launcher.kill(launched)
        if isinstance(error, AgentGone | TimeoutError):
            raise LaunchError(_read_all(complaints) or "the sandbox did not answer") from error
        raise
    finally:
        os.close(complaints)


def _descriptions(launcher: Launcher, surroundings: Rootfs, disk: str, own: Sequence[Bind]) -> list[int]:
    """Descriptors for bubblewrap, in the order of its module's constants: arguments, filter, files."""
    mounts = Mounts(
        disk=disk,
        disk_target=rootfs.DISK,
        cwd=rootfs.CWD,
        binds=(*(Bind(_place(launcher, bind.source), bind.target) for bind in surroundings.binds), *own),
        files=tuple(rootfs.ETC),
    )
    contents = [bubblewrap.encode(bubblewrap.arguments(mounts)), build_filter(), *map(str.encode, rootfs.ETC.values())]
    return [memory_file(content) for content in contents]


def _place(launcher: Launcher, path: str) -> str:
    """`name:rest` is `rest` in a folder that the launcher made reachable."""
    name, colon, rest = path.partition(":")
    if not colon or name not in launcher.folders:
        return path
    return f"{launcher.folders[name]}/{rest}".rstrip("/")


async def _until_ready(guest: Guest) -> None:
    waits = [asyncio.create_task(guest.ready.wait()), asyncio.create_task(guest.gone.wait())]
    try:
        await asyncio.wait(waits, timeout=_START_LIMIT, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for wait in waits:
            wait.cancel()
    if not guest.ready.is_set() or guest.gone.is_set() or not guest.network:
        raise AgentGone


def _read_all(descriptor: int) -> str:
    try:
        return os.read(descriptor, 4096).decode(errors="replace").strip()
    except BlockingIOError:
        return ""
