"""The data folder: one directory for each sandbox, a lock against a second engine, and the trash."""

import asyncio
import fcntl
import os
import shutil
from dataclasses import dataclass
from pathlib import Path
from uuid import uuid4

from bot.engine.errors import DataFolderInUse
from bot.engine.launcher import Launcher
from bot.engine.settings import Settings

_TRAVERSABLE = 0o711  # the sandboxes' user must get through to what is its own, and may list nothing else


@dataclass(frozen=True, slots=True)
class SandboxFolder:
    """Where one sandbox lives.

    `disk` is what it sees as its own, with the folders `sandbox` and `home`: all of it, or what differs from the layers
    below; then the kernel needs `work` beside it.
    """

    path: Path

    @property
    def record(self) -> Path:
        return self.path / "sandbox.json"

    @property
    def commands(self) -> Path:
        return self.path / "commands"

    @property
    def disk(self) -> Path:
        return self.path / "disk"

    @property
    def work(self) -> Path:
        return self.path / "work"

    def create(self) -> None:
        self.path.mkdir(mode=_TRAVERSABLE)
        self.commands.mkdir(mode=0o700)

    def create_disk(self, owner: int) -> None:
        """An empty disk of its own."""
        for folder in (self.disk, self.disk / "sandbox", self.disk / "home"):
            make_for(folder, owner)


def make_traversable(folder: Path) -> None:
    """A folder that the sandboxes' user gets through and cannot list."""
    folder.mkdir(mode=_TRAVERSABLE)


def make_for(folder: Path, owner: int) -> None:
    """A folder that only the sandboxes' user can enter."""
    folder.mkdir(mode=0o700)
    if os.getuid() == 0:
        os.chown(folder, owner, owner)


def lock(settings: Settings) -> int:
    """Make the data folder this engine's own for as long as the returned descriptor is open.

    Raises `DataFolderInUse`.
    """
    for folder in (settings.data, *settings.folders):
        folder.mkdir(mode=_TRAVERSABLE, parents=True, exist_ok=True)
        folder.chmod(folder.stat().st_mode | 0o011)
    descriptor = os.open(settings.data / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        os.close(descriptor)
        raise DataFolderInUse(f"another engine works in {settings.data}") from error
    return descriptor


class Trash:
    """Removes folders in the background. Moving is instant, so a name is free again as soon as `discard` returns."""

    def __init__(self, settings: Settings, launcher: Launcher) -> None:
        self._settings, self._launcher = settings, launcher
        self._removals: set[asyncio.Task[None]] = set()

    def discard(self, folder: SandboxFolder, *, keep_record: bool = False) -> None:
        """Throw away all of a sandbox, or only its disk."""
        place = self._throw(folder.disk, folder.work)
        if not keep_record:
            folder.path.rename(place / "rest")
        self._remove_soon(place)

    def discard_folders(self, *folders: Path) -> None:
        """Throw away what belongs to the sandboxes' user."""
        if any(folder.exists() for folder in folders):
            self._remove_soon(self._throw(*folders))

    def empty(self) -> None:
        """Go on where an earlier engine was interrupted."""
        for left in self._settings.trash.iterdir():
            self._remove_soon(left)

    async def close(self) -> None:
        await asyncio.gather(*self._removals, return_exceptions=True)

    def _throw(self, *folders: Path) -> Path:
        place = self._settings.trash / uuid4().hex
        place.mkdir(mode=_TRAVERSABLE)
        make_for(place / "theirs", self._settings.user)
        for number, folder in enumerate(folders):
            if folder.exists():
                folder.rename(place / "theirs" / str(number))
        return place

    def _remove_soon(self, folder: Path) -> None:
        task = asyncio.create_task(self._remove(folder))
        self._removals.add(task)
        task.add_done_callback(self._removals.discard)

    async def _remove(self, folder: Path) -> None:
        """What the sandbox made is removed by its own user, read-only folders included, and the rest by us."""
        theirs = f"{self._launcher.folders['data']}/trash/{folder.name}/theirs"
        for argv in (["/bin/chmod", "-R", "u+rwX", theirs], ["/bin/rm", "-rf", theirs]):
            await self._run_quietly(argv)
        await asyncio.to_thread(shutil.rmtree, folder, ignore_errors=True)

    async def _run_quietly(self, argv: list[str]) -> None:
        nothing = os.open(os.devnull, os.O_RDWR | os.O_CLOEXEC)
        try:
            launched = await self._launcher.command(argv, env={}, folder=None, streams=[nothing] * 3)
        finally:
            os.close(nothing)
        await asyncio.wait([launched.ended])
