"""What all sandboxes of an engine are made with."""

from dataclasses import dataclass

from bot.engine.cgroups import ControlGroups, Group
from bot.engine.destinations import Gateway
from bot.engine.drives import Drives
from bot.engine.launcher import Launcher
from bot.engine.limits import MEGABYTE
from bot.engine.records import SandboxRecord
from bot.engine.rootfs import Rootfs
from bot.engine.settings import Settings
from bot.engine.snapshots import Snapshots
from bot.engine.storage import Trash


@dataclass(frozen=True, slots=True)
class Workshop:
    """`host` is the address that routes listen on."""

    settings: Settings
    launcher: Launcher
    surroundings: Rootfs
    trash: Trash
    snapshots: Snapshots
    drives: Drives
    host: str
    groups: ControlGroups | None
    gateway: Gateway

    @property
    def owner(self) -> int:
        return self.settings.user

    def group_of(self, record: SandboxRecord) -> Group | None:
        """A control group with what the sandbox may use, where there are control groups."""
        if self.groups is None:
            return None
        memory, processes = record.memory * MEGABYTE, self.settings.max_processes
        return self.groups.create(record.id, memory=memory, processes=processes, cpus=record.vcpus)

    def disk_of(self, record: SandboxRecord) -> str:
        """The sandbox's disk, as the launcher sees it."""
        return f"{self.launcher.folders['data']}/sandboxes/{record.id}/disk"
