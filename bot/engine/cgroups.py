"""Memory, process and processor limits of whole sandboxes by control groups, where this machine lets us make them.

All of them together leave a part of the memory to the host and yield to it in the use of its processors.

Version 1 has a hierarchy for each controller, version 2 one for all
(https://docs.kernel.org/admin-guide/cgroup-v2.html). Where neither is writable, as for an ordinary user without
delegation, only the limits of single processes hold (`limits.process_limits`).
"""

import os
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import structlog

log = structlog.get_logger()
_ROOT = Path("/sys/fs/cgroup")
_OURS = "preview-engine-"
_CONTROLLERS = ("memory", "pids")
_OPTIONAL = "cpu"
_OOM_COUNTERS = ("memory.oom_control", "memory.events")  # in version 1 and 2
_CPU_PERIOD = 100_000  # microseconds
_HOST_MEMORY, _HOST_SHARE = 512 << 20, 10  # the host keeps so many bytes, or one part in so many if that is more
_ALL_TOGETHER = {"cpu.shares": 512, "cpu.weight": 50}  # half of what others get, when processors are short


@dataclass(frozen=True, slots=True)
class Group:
    """The control group of one sandbox: a folder in each hierarchy."""

    folders: tuple[Path, ...]

    @property
    def doors(self) -> list[str]:
        """The files to which a process writes its id to come under the limits."""
        return [str(folder / "cgroup.procs") for folder in self.folders]

    def killed_for_memory(self) -> int:
        """How many processes the kernel has killed because the group's memory was used up."""
        for counters in (folder / name for folder in self.folders for name in _OOM_COUNTERS):
            with suppress(FileNotFoundError):  # the other version's, or the group is removed
                return int(dict(line.split() for line in counters.read_text().splitlines()).get("oom_kill", 0))
        return 0

    def remove(self) -> None:
        """What the kernel still holds is removed by the next engine."""
        for folder in self.folders:
            with suppress(OSError):
                folder.rmdir()


@dataclass(frozen=True, slots=True)
class ControlGroups:
    """Where groups can be made: a folder of this engine in each hierarchy."""

    folders: tuple[Path, ...]

    @classmethod
    def find(cls, root: Path = _ROOT, memberships: str | None = None) -> "ControlGroups | None":
        """Those below our own groups, or nothing when they cannot be written or do not control memory and processes."""
        own = memberships if memberships is not None else Path("/proc/self/cgroup").read_text()
        folders = _version_2(root, own) or _version_1(root, own)
        made = []
        try:
            for folder in folders:
                _sweep(folder)
                place = folder / f"{_OURS}{os.getpid()}"
                place.mkdir(exist_ok=True)
                made.append(place)
                _hand_on(place)
                _write_those_that_exist(place, _limits_of_all(Path("/proc/meminfo").read_text()))
        except OSError as error:
            log.info("no control groups", reason=str(error))
            return None
        return cls(tuple(made)) if made else None

    def create(self, name: str, *, memory: int, processes: int, cpus: int) -> Group:
        """A group with `memory` bytes, `processes`, threads included, and the time of `cpus` processors."""
        wanted: dict[str, int | str] = {
            "memory.limit_in_bytes": memory,
            "memory.max": memory,
            "memory.swap.max": 0,
            "pids.max": processes,
            "cpu.cfs_quota_us": cpus * _CPU_PERIOD,
            "cpu.max": f"{cpus * _CPU_PERIOD} {_CPU_PERIOD}",
        }
        group = Group(tuple(folder / name for folder in self.folders))
        for folder in group.folders:
            folder.mkdir(parents=True, exist_ok=True)
            _write_those_that_exist(folder, wanted)
        return group

    def close(self) -> None:
        Group(self.folders).remove()


def _version_2(root: Path, own: str) -> list[Path]:
    """Our group of the one hierarchy, if it hands the controllers on to its children."""
    for line in own.splitlines():
        if line.startswith("0::"):
            folder = root / line[3:].lstrip("/")
            handed_on = folder / "cgroup.subtree_control"
            if handed_on.is_file() and set(_CONTROLLERS) <= set(handed_on.read_text().split()):
                return [folder]
    return []


def _version_1(root: Path, own: str) -> list[Path]:
    paths: dict[str, str] = {}
    for line in own.splitlines():
        _, controllers, path = line.split(":", 2)
        paths |= dict.fromkeys(controllers.split(","), path)
    folders = [root / controller / paths[controller].lstrip("/") for controller in _CONTROLLERS if controller in paths]
    if len(folders) < len(_CONTROLLERS) or not all(folder.is_dir() for folder in folders):
        return []
    optional = root / _OPTIONAL / paths.get(_OPTIONAL, "").lstrip("/")
    return [*folders, optional] if _OPTIONAL in paths and optional.is_dir() else folders


def _hand_on(place: Path) -> None:
    """Version 2 controls in a group only what its parent hands on."""
    theirs, ours = place.parent / "cgroup.subtree_control", place / "cgroup.subtree_control"
    if ours.is_file():
        named = set(theirs.read_text().split()) & {*_CONTROLLERS, _OPTIONAL}
        ours.write_text(" ".join(f"+{controller}" for controller in sorted(named)))


def _limits_of_all(meminfo: str) -> dict[str, int | str]:
    """What all sandboxes may use together, from the text of /proc/meminfo."""
    total = int(meminfo.split("MemTotal:")[1].split(maxsplit=1)[0]) * 1024
    memory = total - max(_HOST_MEMORY, total // _HOST_SHARE)
    return {"memory.limit_in_bytes": memory, "memory.max": memory, **_ALL_TOGETHER}


def _write_those_that_exist(folder: Path, wanted: Mapping[str, int | str]) -> None:
    for name, value in wanted.items():
        if (folder / name).exists():
            (folder / name).write_text(str(value))


def _sweep(folder: Path) -> None:
    """Remove what engines that were killed left behind."""
    for left in folder.glob(f"{_OURS}*"):
        if not Path("/proc", left.name.removeprefix(_OURS)).exists():
            for group in (*left.glob("*/"), left):
                with suppress(OSError):
                    group.rmdir()
