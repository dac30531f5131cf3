"""What all sandboxes of an engine are made with."""

from dataclasses import dataclass

from bot.engine.launcher import Launcher
from bot.engine.records import SandboxRecord
from bot.engine.rootfs import Rootfs
from bot.engine.settings import Settings
from bot.engine.storage import Trash


@dataclass(frozen=True, slots=True)
class Workshop:
    """`host` is the address that routes listen on."""

    settings: Settings
    launcher: Launcher
    surroundings: Rootfs
    trash: Trash
    host: str

    @property
    def owner(self) -> int:
        return self.settings.user

    def disk_of(self, record: SandboxRecord) -> str:
        """The sandbox's disk, as the launcher sees it."""
        return f"{self.launcher.folders['data']}/sandboxes/{record.id}/disk"
