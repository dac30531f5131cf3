"""What the operator of an engine can choose."""

from dataclasses import dataclass
from pathlib import Path

DEFAULT_USER = 200_000  # a host uid without an account: what breaks out of a sandbox owns nothing


@dataclass(frozen=True, slots=True)
class Settings:
    """Sizes are bytes, durations seconds. `user` is the host uid of all sandboxes when the engine runs as root."""

    data: Path
    user: int = DEFAULT_USER
    ro_binds: tuple[Path, ...] = ()
    output_limit: int = 16 << 20  # kept of each stream of each command
    disk_floor: int = 1 << 30  # with less free, no sandbox is created
    disk_limit: int = 16 << 30  # of what one sandbox wrote; one that has more is ended
    watch_interval: float = 5.0  # between two looks at the disks
    max_processes: int = 2048  # threads count as well
    max_file_size: int = 8 << 30
    clone_limit: float = 600.0
    egress_proxy: str | None = None  # http://[user:password@]host[:port], where the host has no other way out
    answer_limit: float = 25.0  # a POST that creates is answered `pending` after this; clients give up after 60

    @property
    def folders(self) -> tuple[Path, ...]:
        return self.sandboxes, self.snapshots, self.layers, self.drives, self.trash

    @property
    def sandboxes(self) -> Path:
        return self.data / "sandboxes"

    @property
    def authority(self) -> Path:
        return self.data / "authority"

    @property
    def trust(self) -> Path:
        return self.tools / "trust"

    @property
    def snapshots(self) -> Path:
        return self.data / "snapshots"

    @property
    def layers(self) -> Path:
        return self.data / "layers"

    @property
    def drives(self) -> Path:
        return self.data / "drives"

    @property
    def tools(self) -> Path:
        return self.data / "tools"

    @property
    def trash(self) -> Path:
        return self.data / "trash"
