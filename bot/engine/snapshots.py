"""The snapshots of all sandboxes: taken, found, used, expired; layers that nothing stands on any more are removed."""

import asyncio
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any
from uuid import uuid4

import structlog

from bot.engine.errors import ApiError, LaunchError, not_found
from bot.engine.layers import Layers, new_layer_id
from bot.engine.records import Layer, Method, SandboxRecord, SnapshotRecord, load, now, save
from bot.engine.retention import expired, lifetime, surplus
from bot.engine.storage import SandboxFolder

log = structlog.get_logger()
MOST_LAYERS = 10  # a longer stack is merged into one, in the background
_LONGEST_TIMER = 86_400.0
_BOOT = Path("/proc/sys/kernel/random/boot_id")


class Snapshots:
    """A snapshot is on disk when `take` returns; that it also survives the machine's end takes a little longer."""

    def __init__(self, folder: Path, layers: Layers) -> None:
        self.layers = layers
        self._folder = folder
        self._boot = _BOOT.read_text().strip()
        self._records: dict[str, SnapshotRecord] = {}
        self._sandboxes: dict[str, SandboxRecord] = {}
        self._others: dict[str, tuple[Layer, ...]] = {}
        self._settling: asyncio.Task[None] | None = None
        self._expiry: asyncio.TimerHandle | None = None

    def remember(self) -> None:
        """Take over what an earlier engine left; call `finish` for every sandbox, and `tidy` after that.

        What the machine's end caught before it was safe on disk may be damaged, and is given up.
        """
        for path in self._folder.glob("*.json"):
            record = load(path, SnapshotRecord)
            if record is None or record.boot not in (None, self._boot):
                log.warning("a snapshot is lost", snapshot=path.stem)
                path.unlink()
            else:
                self._records[record.id] = record

    def finish(self, sandbox: SandboxRecord, folder: SandboxFolder) -> SandboxRecord:
        """The sandbox after a snapshot whose taking an earlier engine could not finish."""
        mine = [one for one in self.of(sandbox.id) if one.session_id == sandbox.session.id]
        for snapshot in mine:
            if not self.layers.has(snapshot.layers[0]) and folder.disk.is_dir():
                self.layers.adopt(folder.disk, snapshot.layers[0])
            if self.layers.has(snapshot.layers[0]) and not folder.disk.is_dir():
                return replace(sandbox, current_snapshot=snapshot.id, layers=())
        return sandbox

    def start(self) -> None:
        """Begin to look after what is there: forget what has expired or lost its files, remove what nobody needs."""
        for record in self.all():
            if not all(self.layers.has(layer) for layer in record.layers):
                log.warning("a snapshot has lost its files", snapshot=record.id)
                self._forget(record.id)
        self._look_after()

    async def close(self) -> None:
        if self._expiry:
            self._expiry.cancel()
        if self._settling:
            self._settling.cancel()
            await asyncio.wait([self._settling])

    @property
    def by_id(self) -> Mapping[str, SnapshotRecord]:
        return self._records

    def all(self) -> Sequence[SnapshotRecord]:
        return list(self._records.values())

    def of(self, sandbox_id: str) -> list[SnapshotRecord]:
        """A sandbox's own, newest first."""
        mine = [record for record in self._records.values() if record.sandbox == sandbox_id]
        return sorted(mine, key=lambda record: (record.created_at, record.id), reverse=True)

    def get(self, snapshot_id: str) -> SnapshotRecord:
        if snapshot_id not in self._records:
            raise not_found(f"snapshot {snapshot_id}")
        return self._records[snapshot_id]

    def has(self, snapshot_id: str | None) -> bool:
        return snapshot_id in self._records

    def use(self, snapshot_id: str | None) -> SnapshotRecord:
        """A snapshot to start from, whose time to live begins anew. Raises `ApiError` 410 when there is no such."""
        if snapshot_id is None or snapshot_id not in self._records:
            raise ApiError(410, "snapshot_not_found", f"snapshot {snapshot_id} not found")
        self._change(snapshot_id, last_used_at=now())
        self._await_expiry()
        return self._records[snapshot_id]

    def hold(self, sandbox: SandboxRecord) -> None:
        """Keep the layers below a sandbox's disk for as long as it is there."""
        self._sandboxes[sandbox.id] = sandbox

    def release(self, sandbox: SandboxRecord) -> None:
        self._sandboxes.pop(sandbox.id, None)
        self._tidy()

    def hold_layers(self, holder: str, layers: tuple[Layer, ...]) -> None:
        """Keep these for something that is no sandbox; `drop_layers` lets go of them."""
        self._others[holder] = layers

    def drop_layers(self, holder: str) -> None:
        self._others.pop(holder, None)
        self._tidy()

    def take(
        self, sandbox: SandboxRecord, folder: SandboxFolder, size: int, method: Method, expiration: int | None
    ) -> SnapshotRecord:
        """Make a disk of `size` bytes, which nothing uses any more, a snapshot. Raises `OSError`; then it stays."""
        taken = now()
        snapshot = SnapshotRecord(
            id=f"snap_{uuid4().hex}",
            sandbox=sandbox.id,
            sandbox_name=sandbox.name,
            session_id=sandbox.session.id,
            repository=sandbox.repository,
            layers=(Layer(new_layer_id(), size), *sandbox.layers),
            method=method,
            created_at=taken,
            updated_at=taken,
            last_used_at=taken,
            expiration=lifetime(sandbox, expiration),
            parent=sandbox.current_snapshot,
            boot=self._boot,
        )
        try:
            save(self._path(snapshot.id), snapshot)
            self.layers.adopt(folder.disk, snapshot.layers[0])
        except OSError:
            self._path(snapshot.id).unlink(missing_ok=True)
            raise
        self._records[snapshot.id] = snapshot
        return snapshot

    def retain(self, sandbox: SandboxRecord) -> None:
        """After `take`, when the sandbox points at its new snapshot: let go of those that it need not keep."""
        used = self._used_by_others(sandbox.id)
        for snapshot in surplus(sandbox, self.of(sandbox.id)):
            if snapshot.id in used:
                continue
            if sandbox.retention and sandbox.retention.delete_evicted:
                self._forget(snapshot.id)
            else:
                self._change(snapshot.id, expiration=lifetime(replace(sandbox, retention=None), None))
        self._look_after()

    def delete(self, snapshot_id: str) -> SnapshotRecord:
        """Forget one. What was made from it stays whole."""
        record = self.get(snapshot_id)
        self._forget(snapshot_id)
        self._tidy()
        return record

    def delete_orphans(self, sandbox: SandboxRecord) -> None:
        """Delete a destroyed sandbox's snapshots that no other sandbox starts from."""
        used = self._used_by_others(sandbox.id)
        for snapshot in self.of(sandbox.id):
            if snapshot.id not in used:
                self._forget(snapshot.id)
        self._tidy()

    def _used_by_others(self, sandbox_id: str) -> set[str | None]:
        return {other.current_snapshot for other in self._sandboxes.values() if other.id != sandbox_id}

    def _look_after(self) -> None:
        self._await_expiry()
        self._tidy()
        if self._settling is None or self._settling.done():
            self._settling = asyncio.create_task(self._settle())

    def _tidy(self) -> None:
        """Remove the layers that no snapshot and no disk stands on."""
        stacks = [record.layers for record in self._records.values()]
        stacks += [sandbox.layers for sandbox in self._sandboxes.values()] + list(self._others.values())
        self.layers.retain({layer.id for stack in stacks for layer in stack})

    def _await_expiry(self) -> None:
        if self._expiry:
            self._expiry.cancel()
        for record in expired(self.all(), now()):
            self._forget(record.id)
        ends = [record.expires_at for record in self._records.values() if record.expires_at]
        if ends:
            left = min(max(0.0, (min(ends) - now()) / 1000), _LONGEST_TIMER)
            self._expiry = asyncio.get_running_loop().call_later(left, self._look_after)

    async def _settle(self) -> None:
        """Bring new layers safely to disk, then merge stacks that have grown too long."""
        try:
            while True:
                if unsafe := [record for record in self.all() if record.boot]:
                    await self.layers.sync(unsafe[-1].layers[0])
                    for record in unsafe:
                        self._change(record.id, boot=None)
                elif tall := [record for record in self.all() if len(record.layers) > MOST_LAYERS]:
                    await self._flatten(tall[-1])
                else:
                    return
        except LaunchError as error:
            log.warning("snapshots are not looked after", reason=str(error))

    async def _flatten(self, record: SnapshotRecord) -> None:
        merged = await self.layers.merge(record.layers)
        self._change(record.id, layers=(merged,), boot=self._boot)
        log.info("the layers of a snapshot are merged", snapshot=record.id, layers=len(record.layers))
        self._tidy()

    def _change(self, snapshot_id: str, **changes: Any) -> None:
        if snapshot_id not in self._records:
            return
        record = self._records[snapshot_id] = replace(self._records[snapshot_id], **changes, updated_at=now())
        try:
            save(self._path(snapshot_id), record)
        except OSError as error:
            log.error("a snapshot's record is not on disk", snapshot=snapshot_id, reason=str(error))  # noqa: TRY400

    def _forget(self, snapshot_id: str) -> None:
        del self._records[snapshot_id]
        with suppress(OSError):
            self._path(snapshot_id).unlink()

    def _path(self, snapshot_id: str) -> Path:
        return self._folder / f"{snapshot_id}.json"
