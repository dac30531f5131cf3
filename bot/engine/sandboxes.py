"""All sandboxes of an engine: created, found, listed, resumed, destroyed, and remembered over a restart."""

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from uuid import uuid4

import structlog

from bot.engine.drives import Drives
from bot.engine.errors import ApiError, EngineError, not_found
from bot.engine.first_record import first_record, inherit, resources
from bot.engine.limits import require_disk
from bot.engine.records import ENDED, SandboxRecord, Status, load, now, save
from bot.engine.sandbox import Provision, Sandbox
from bot.engine.snapshots import Snapshots
from bot.engine.sources import provide
from bot.engine.storage import SandboxFolder
from bot.engine.wire import CreateBody, GitSource, SnapshotSource, TarballSource, UpdateBody
from bot.engine.workshop import Workshop

log = structlog.get_logger()


class Sandboxes:
    """Names are unique; a session id leads to its sandbox for as long as that exists."""

    def __init__(self, workshop: Workshop) -> None:
        self._workshop = workshop
        self._by_name: dict[str, Sandbox] = {}
        self._late: set[asyncio.Task[None]] = set()

    @property
    def snapshots(self) -> Snapshots:
        return self._workshop.snapshots

    @property
    def drives(self) -> Drives:
        return self._workshop.drives

    def remember(self) -> None:
        """Take over what an earlier engine left: its sandboxes are stopped now, their files are there."""
        self.snapshots.remember()
        self.drives.remember()
        for folder in sorted(self._workshop.settings.sandboxes.iterdir()):
            record = load(folder / "sandbox.json", SandboxRecord)
            if record is None:
                log.warning("a sandbox without a record is removed", folder=folder.name)
                self._workshop.trash.discard(SandboxFolder(folder))
                continue
            if record.status not in ENDED:
                record = _ended(self.snapshots.finish(record, SandboxFolder(folder)))
            sandbox = Sandbox(self._workshop, record)
            sandbox.open_routes(record.routes)
            sandbox.change()
            self._by_name[record.name] = sandbox
        self.snapshots.start()

    async def create(self, body: CreateBody) -> Sandbox:
        """Raises `ApiError`: 409 for a taken name, 400 or 410 when the source cannot be had, 507 on a full disk."""
        record = first_record(body, self._free_name(body.name))
        if isinstance(body.source, SnapshotSource):
            return await self._add(self._upon(record, body.source.snapshot_id), body.ports)
        return await self._add(record, body.ports, body.source)

    async def fork(self, name: str, body: CreateBody) -> Sandbox:
        """A new sandbox like this one where `body` does not differ, with the files of its current snapshot."""
        parent = self.get(name).record
        record = inherit(first_record(body, self._free_name(body.name)), parent, body.model_fields_set)
        if parent.current_snapshot:
            record = self._upon(record, parent.current_snapshot)
        return await self._add(record, body.ports if "ports" in body.model_fields_set else list(parent.routes))

    async def resume(self, name: str) -> tuple[Sandbox, bool]:
        """A sandbox with a running session, and whether that was started now.

        Raises `ApiError` 410 `snapshot_not_found` when there is nothing to resume from: clients then create anew.
        """
        sandbox = self.get(name)
        if sandbox.record.status is Status.STOPPING or sandbox.has_died:
            await sandbox.stop(Status.ABORTED if sandbox.has_died else Status.STOPPED)
        started = sandbox.record.status in ENDED
        if started and not sandbox.can_resume:
            raise ApiError(410, "snapshot_not_found", f"sandbox {name} has stopped and left nothing to resume from")
        if started or sandbox.record.status is Status.PENDING:
            await self._begin(sandbox, None)
        return sandbox, started

    def get(self, name: str) -> Sandbox:
        if name not in self._by_name:
            raise not_found(f"sandbox {name}")
        return self._by_name[name]

    def all(self) -> Sequence[Sandbox]:
        return list(self._by_name.values())

    def of_session(self, session_id: str) -> Sandbox:
        for sandbox in self._by_name.values():
            if any(session.id == session_id for session in sandbox.record.sessions):
                return sandbox
        raise not_found(f"session {session_id}")

    def update(self, sandbox: Sandbox, body: UpdateBody) -> None:
        """Save what is given; the running session keeps its environment, time limit and policy."""
        saved_as_sent = {"timeout", "env", "tags", "persistent", "snapshot_expiration"}
        changes = body.model_dump(include=saved_as_sent, exclude_none=True)
        if "keep_last_snapshots" in body.model_fields_set:
            changes["retention"] = body.keep_last_snapshots.parse() if body.keep_last_snapshots else None
        if body.mounts is not None:
            changes["mounts"] = {target: mount.parse() for target, mount in body.mounts.items()}
        if body.current_snapshot_id is not None:
            sandbox.start_from(body.current_snapshot_id)
        if body.resources:
            vcpus, memory = resources(body.resources.vcpus or sandbox.record.vcpus, body.resources.memory)
            changes |= {"vcpus": vcpus, "memory": memory}
        if body.network_policy:
            changes["policy"] = body.network_policy.parse()
        if body.ports is not None:
            sandbox.open_routes(body.ports)
        sandbox.change(**changes)

    async def destroy(self, name: str, *, with_snapshots: bool = False) -> Sandbox:
        """Its snapshots stay until they expire; `with_snapshots` only those that other sandboxes start from do."""
        sandbox = self.get(name)
        await self._remove(sandbox)
        if with_snapshots:
            self.snapshots.delete_orphans(sandbox.record)
        return sandbox

    async def close(self) -> None:
        """Stop them all; those that persist can be resumed by the next engine."""
        ends = await asyncio.gather(*(sandbox.close() for sandbox in self.all()), return_exceptions=True)
        for failure in filter(None, ends):
            log.error("a sandbox could not be stopped", reason=repr(failure))

    def _free_name(self, wanted: str | None) -> str:
        name = wanted or f"sbx-{uuid4().hex[:12]}"
        if name in self._by_name:
            raise ApiError(409, "conflict", f"a sandbox named {name} exists")
        return name

    def _upon(self, record: SandboxRecord, snapshot_id: str) -> SandboxRecord:
        snapshot = self.snapshots.use(snapshot_id)
        return replace(record, current_snapshot=snapshot.id, layers=snapshot.layers, repository=snapshot.repository)

    async def _add(
        self, record: SandboxRecord, ports: Sequence[int], source: GitSource | TarballSource | None = None
    ) -> Sandbox:
        settings = self._workshop.settings
        require_disk(settings.data, settings.disk_floor)
        sandbox = self._by_name[record.name] = Sandbox(self._workshop, record)
        try:
            sandbox.folder.create()
            if record.current_snapshot is None:
                sandbox.folder.create_disk(settings.user)
            sandbox.open_routes(ports)
            save(sandbox.folder.record, sandbox.record)
            await self._begin(sandbox, self._provision(sandbox, source))
        except BaseException:
            await self._remove(sandbox)
            raise
        return sandbox

    async def _begin(self, sandbox: Sandbox, provision: Provision | None) -> None:
        """Wait until the session runs, or leave it pending when that takes longer than clients wait for an answer."""
        task = sandbox.begin_session(provision)
        done, _ = await asyncio.wait([task], timeout=self._workshop.settings.answer_limit)
        if not done:
            self._late.add(task)
            task.add_done_callback(self._came_late)
        elif task.cancelled():
            raise ApiError(410, "sandbox_stopped", "the sandbox was stopped while it started")
        elif isinstance(error := task.exception(), EngineError):
            raise ApiError(500, "sandbox_not_started", str(error)) from error
        elif error:
            raise error

    def _came_late(self, task: "asyncio.Task[None]") -> None:
        self._late.discard(task)
        if not task.cancelled() and (error := task.exception()):
            log.warning("a sandbox that was answered as pending has failed", reason=str(error))

    def _provision(self, sandbox: Sandbox, source: GitSource | TarballSource | None) -> Provision | None:
        if source is None:
            return None
        return partial(
            provide,
            source=source,
            launcher=self._workshop.launcher,
            folder=f"{self._workshop.disk_of(sandbox.record)}/sandbox",
            owner=self._workshop.owner,
            env=sandbox.environment,
            limit=self._workshop.settings.clone_limit,
            proxy=self._workshop.settings.egress_proxy,
        )

    async def _remove(self, sandbox: Sandbox) -> None:
        self._by_name.pop(sandbox.record.name, None)
        await sandbox.close(keep=False)
        if sandbox.folder.path.exists():
            self._workshop.trash.discard(sandbox.folder)
        self.snapshots.release(sandbox.record)


def _ended(record: SandboxRecord) -> SandboxRecord:
    """What a record says once its engine is gone: a session that ran has stopped, one that was starting has failed."""
    status = Status.FAILED if record.status is Status.PENDING else Status.STOPPED
    session = replace(record.session, status=status, stopped_at=now())
    return replace(record, status=status, status_updated_at=now(), sessions=(*record.sessions[:-1], session))
