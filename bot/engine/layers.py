"""The layers of all snapshots: folders that never change, stacked by the kernel under the disks of sandboxes.

A layer is the disk of a sandbox that has ended, moved here, so taking one costs no copying; what several snapshots and
sandboxes stand on is there once. Where the kernel will not mount an overlay in a user namespace (a data folder that is
itself on one, old kernels) every sandbox gets a copy instead, and a layer is always a whole disk.
"""

import re
from collections.abc import Collection, Sequence
from pathlib import Path
from uuid import uuid4

import structlog

from bot.engine.errands import run_on_host
from bot.engine.errors import LaunchError
from bot.engine.launcher import Launcher
from bot.engine.overlay import Overlay
from bot.engine.records import Layer
from bot.engine.settings import Settings
from bot.engine.storage import SandboxFolder, Trash, make_for

log = structlog.get_logger()
_COPY = ["/bin/cp", "--archive", "--reflink=auto"]
_MEASURE = ["/usr/bin/du", "--summarize", "--block-size=1"]
_SIZE = re.compile(r"^(\d+)\t", re.MULTILINE)  # du complains of what vanishes meanwhile, and counts on
_SYNC = ["/bin/sync", "--file-system"]


class Layers:
    """`stacked` is whether the kernel stacks them. Make with `Layers.open`, which finds that out."""

    @classmethod
    async def open(cls, settings: Settings, launcher: Launcher, trash: Trash) -> "Layers":
        trial = settings.layers / "trial"
        trash.discard_folders(trial)
        for folder in (trial, trial / "lower", trial / "upper", trial / "work"):
            make_for(folder, settings.user)
        places = {name: f"layers/trial/{name}" for name in ("upper", "work")}
        overlay = Overlay(launcher.folders["data"], ("layers/trial/lower",), **places)
        tried = await run_on_host(launcher, ["/bin/true"], overlay=overlay)
        if tried.code:
            log.warning("snapshots are copied for every sandbox, for want of an overlay", reason=tried.output.strip())
        trash.discard_folders(trial)
        return cls(settings, launcher, trash, stacked=tried.code == 0)

    def __init__(self, settings: Settings, launcher: Launcher, trash: Trash, *, stacked: bool) -> None:
        self.stacked = stacked
        self._folder, self._user = settings.layers, settings.user
        self._launcher, self._trash = launcher, trash
        self._data = launcher.folders["data"]
        self._in_work: set[str] = set()

    def has(self, layer: Layer) -> bool:
        return (self._folder / layer.id).is_dir()

    def adopt(self, disk: Path, layer: Layer) -> None:
        """Make a disk that nobody uses any more a layer."""
        disk.rename(self._folder / layer.id)

    async def prepare(self, folder: SandboxFolder, layers: Sequence[Layer]) -> Overlay | None:
        """Get a disk ready for the next session: what is to be mounted over it, nothing when it is whole by itself.

        Raises `LaunchError` when there is no overlay for a disk that needs one, or no space for a copy.
        """
        if not layers:
            return None
        if not self.stacked:
            await self._copy_to(folder, layers)
            return None
        self._trash.discard_folders(folder.work)  # of the last session: the kernel takes no used one
        if not folder.disk.is_dir():
            make_for(folder.disk, self._user)
        make_for(folder.work, self._user)
        place = folder.path.relative_to(self._folder.parent)
        lower = tuple(f"layers/{layer.id}" for layer in layers)
        return Overlay(self._data, lower, upper=f"{place}/disk", work=f"{place}/work")

    async def merge(self, layers: Sequence[Layer]) -> Layer:
        """One new layer that holds what all of these together show. Raises `LaunchError` with the reason."""
        layer = Layer(new_layer_id(), 0)
        target = self._folder / layer.id
        self._in_work.add(layer.id)
        try:
            make_for(target, self._user)
            overlay = Overlay(self._data, tuple(f"layers/{one.id}" for one in layers))
            source = f"{self._data}/layers/{layers[0].id}/."
            await self._run([*_COPY, source, f"{self._data}/layers/{layer.id}"], overlay)
            return Layer(layer.id, await self.measure(target))
        except BaseException:
            self._trash.discard_folders(target)
            raise
        finally:
            self._in_work.discard(layer.id)

    async def sync(self, layer: Layer) -> None:
        """Wait until this and all earlier layers are on the disk, and not only in the machine's memory."""
        await self._run([*_SYNC, f"{self._data}/layers/{layer.id}"], None)

    async def measure(self, folder: Path) -> int:
        """Bytes on disk of everything below a folder of the sandboxes' user, what is hidden from it included.

        Raises `LaunchError`.
        """
        argv = [*_MEASURE, f"{self._data}/{folder.relative_to(self._folder.parent)}"]
        ended = await run_on_host(self._launcher, argv, as_root=True)
        sizes = _SIZE.findall(ended.output)
        if not sizes:
            raise LaunchError(ended.output.strip() or "the disk cannot be measured")
        return int(sizes[-1])

    def retain(self, wanted: Collection[str]) -> None:
        """Remove every other layer."""
        for folder in self._folder.iterdir():
            if folder.name not in wanted and folder.name not in self._in_work:
                self._trash.discard_folders(folder)

    async def _copy_to(self, folder: SandboxFolder, layers: Sequence[Layer]) -> None:
        if folder.disk.is_dir():
            return
        if len(layers) > 1:
            raise LaunchError("this snapshot has several layers, and this machine cannot mount an overlay")
        half = folder.path / "copying"
        self._trash.discard_folders(half)
        make_for(half, self._user)
        source = f"{self._data}/layers/{layers[0].id}/."
        await self._run([*_COPY, source, f"{self._data}/{half.relative_to(self._folder.parent)}"], None)
        half.rename(folder.disk)

    async def _run(self, argv: list[str], overlay: Overlay | None) -> None:
        ended = await run_on_host(self._launcher, argv, overlay=overlay, as_root=True)
        if ended.code:
            raise LaunchError(ended.output.strip() or f"{argv[0]} ended with {ended.code}")


def new_layer_id() -> str:
    return f"layer_{uuid4().hex}"
