"""Drives: disks of their own that outlive sandboxes, written by one session at a time and read by any number.

What a session has written is committed as a layer when it ends. A `snapshot` mount shows what was committed when its
session began, and a fork starts with what is committed, so both cost no copying.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from uuid import uuid4

import structlog

from bot.engine.bubblewrap import Bind
from bot.engine.errors import ApiError, LaunchError, not_found
from bot.engine.layers import new_layer_id
from bot.engine.overlay import Overlay
from bot.engine.records import DriveRecord, Layer, Mount, MountMode, load, now, save
from bot.engine.snapshots import MOST_LAYERS, Snapshots
from bot.engine.storage import SandboxFolder, Trash, make_for, make_traversable

log = structlog.get_logger()
DEFAULT_SIZE = 10 << 30


@dataclass(frozen=True, slots=True)
class Attached:
    """What the launcher needs for the drives of one session."""

    overlays: tuple[Overlay, ...] = ()
    binds: tuple[Bind, ...] = ()


class Drives:
    """Names are unique. A drive that a session writes belongs to that session until `detach`."""

    def __init__(self, folder: Path, data: str, owner: int, snapshots: Snapshots, trash: Trash) -> None:
        self._folder, self._data, self._owner = folder, data, owner
        self._snapshots, self._layers, self._trash = snapshots, snapshots.layers, trash
        self._by_name: dict[str, DriveRecord] = {}
        self._writers: dict[str, tuple[str, str]] = {}  # drive id -> the sandbox's name and the session's id

    def remember(self) -> None:
        """Take over what an earlier engine left; what its sessions had written is committed."""
        for place in self._folder.iterdir():
            record = load(place / "drive.json", DriveRecord)
            if record is None:
                log.warning("a drive without a record is left alone", folder=place.name)
                continue
            self._put(record)
            if SandboxFolder(place).disk.is_dir():
                self._commit(record, 0)

    def all(self) -> Sequence[DriveRecord]:
        return list(self._by_name.values())

    def get(self, name_or_id: str) -> DriveRecord:
        found = self._by_name.get(name_or_id) or next((one for one in self.all() if one.id == name_or_id), None)
        if found is None:
            raise not_found(f"drive {name_or_id}")
        return found

    def writer(self, record: DriveRecord) -> tuple[str, str] | None:
        """The name of the sandbox and the id of the session that write it now."""
        return self._writers.get(record.id)

    def get_or_create(self, name: str, project: str, size: int | None) -> tuple[DriveRecord, bool]:
        """The drive of that name, and whether it is new."""
        if name in self._by_name:
            return self._by_name[name], False
        created = now()
        drive_id = f"drive_{uuid4().hex}"
        record = DriveRecord(drive_id, name, project, size or DEFAULT_SIZE, created, created, (), None, drive_id)
        return self._create(record), True

    def fork(self, name: str, new_name: str) -> DriveRecord:
        """A new drive with what is committed. Raises `ApiError` 409 for a taken name, or if nothing is committed."""
        parent = self._initialized(name)
        if new_name in self._by_name:
            raise ApiError(409, "conflict", f"a drive named {new_name} exists")
        drive_id, created = f"drive_{uuid4().hex}", now()
        fork = replace(parent, id=drive_id, name=new_name, parent=parent.id, created_at=created, updated_at=created)
        return self._create(fork)

    def delete(self, name: str) -> DriveRecord:
        record = self.get(name)
        if record.id in self._writers:
            raise ApiError(409, "drive_attached", f"drive {name} is attached to {self._writers[record.id][0]}")
        del self._by_name[record.name]
        place = self._folder / record.id
        (place / "drive.json").unlink()
        self._trash.discard(SandboxFolder(place))
        self._snapshots.drop_layers(record.id)
        return record

    async def attach(self, sandbox: str, session: str, mounts: Mapping[str, Mount]) -> Attached:
        """Get them ready for a session. Raises `ApiError` 404, and 409 if one has another writer or nothing to show."""
        for mount in mounts.values():
            self._claim(mount, sandbox, session)
        overlays, binds = [], []
        for target, mount in mounts.items():
            record = self.get(mount.drive)
            if mount.mode is MountMode.READ_WRITE:
                overlay, place = await self._writable(record), f"drives/{record.id}/disk"
            else:
                several = len(record.layers) > 1
                overlay = Overlay(self._data, tuple(f"layers/{one.id}" for one in record.layers)) if several else None
                place = f"layers/{record.layers[0].id}"
            overlays += [overlay] if overlay else []
            binds.append(Bind(f"{self._data}/{place}", target, writable=mount.mode is MountMode.READ_WRITE))
        return Attached(tuple(overlays), tuple(binds))

    async def detach(self, session: str) -> None:
        """Commit what a session that has ended wrote."""
        for record in self.all():
            if self._writers.get(record.id, ("", ""))[1] != session:
                continue
            disk = SandboxFolder(self._folder / record.id).disk
            try:
                if disk.is_dir():
                    self._commit(record, await self._layers.measure(disk))
            except (OSError, LaunchError) as error:  # nothing is lost: the next writer goes on with the same disk
                log.error("a drive is not committed", drive=record.id, reason=str(error))  # noqa: TRY400
            finally:
                del self._writers[record.id]

    async def overfull(self, session: str) -> list[DriveRecord]:
        """Those on which a session has written more than there is room for. Raises `LaunchError`."""
        found = []
        for record in self.all():
            if self._writers.get(record.id, ("", ""))[1] == session:
                written = await self._layers.measure(SandboxFolder(self._folder / record.id).disk)
                if written + sum(layer.size for layer in record.layers) > record.max_size:
                    found.append(record)
        return found

    def _claim(self, mount: Mount, sandbox: str, session: str) -> None:
        if mount.mode is MountMode.SNAPSHOT:
            self._initialized(mount.drive)
            return
        record = self.get(mount.drive)
        if self._writers.get(record.id, ("", session))[1] != session:
            raise ApiError(409, "drive_attached", f"drive {mount.drive} is attached to {self._writers[record.id][0]}")
        self._writers[record.id] = (sandbox, session)

    def _initialized(self, name: str) -> DriveRecord:
        record = self.get(name)
        if not record.layers:
            raise ApiError(409, "drive_not_initialized", f"nothing is committed to drive {name} yet")
        return record

    async def _writable(self, record: DriveRecord) -> Overlay | None:
        if len(record.layers) > MOST_LAYERS:
            record = self._put(replace(record, layers=(await self._layers.merge(record.layers),)))
        folder = SandboxFolder(self._folder / record.id)
        if not record.layers and not folder.disk.is_dir():
            make_for(folder.disk, self._owner)
        return await self._layers.prepare(folder, record.layers)

    def _commit(self, record: DriveRecord, size: int) -> None:
        layer = Layer(new_layer_id(), size)
        below = record.layers if self._layers.stacked else ()
        self._put(replace(record, layers=(layer, *below), updated_at=now()))
        self._layers.adopt(SandboxFolder(self._folder / record.id).disk, layer)

    def _create(self, record: DriveRecord) -> DriveRecord:
        make_traversable(self._folder / record.id)
        return self._put(record)

    def _put(self, record: DriveRecord) -> DriveRecord:
        save(self._folder / record.id / "drive.json", record)
        self._by_name[record.name] = record
        self._snapshots.hold_layers(record.id, record.layers)
        return record
