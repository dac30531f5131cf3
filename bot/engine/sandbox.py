"""One sandbox: its sessions, its routes, its commands, and which of these exist at the moment."""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Iterable
from dataclasses import replace
from typing import Any

import structlog

from bot.engine import trust
from bot.engine.box import Box, launch
from bot.engine.cgroups import Group
from bot.engine.errors import ApiError, LaunchError, sandbox_stopped
from bot.engine.history import CommandHistory
from bot.engine.limits import process_limits
from bot.engine.overlay import Overlay
from bot.engine.policy import NetworkPolicy
from bot.engine.records import (
    ENDED,
    Method,
    SandboxRecord,
    SessionRecord,
    SnapshotRecord,
    Status,
    new_session,
    now,
    save,
)
from bot.engine.rootfs import CWD
from bot.engine.routes import Routes
from bot.engine.storage import SandboxFolder
from bot.engine.verdicts import Verdicts
from bot.engine.workshop import Workshop

log = structlog.get_logger()
_MOST_SESSIONS = 50  # remembered of each sandbox; a client that holds an older one has to ask for the sandbox anew
Provision = Callable[[Box], Awaitable[None]]


class Sandbox:
    """Its record is on disk as it is here. Lifecycle changes take turns."""

    def __init__(self, workshop: Workshop, record: SandboxRecord) -> None:
        self.workshop = workshop
        self.record = record
        self.folder = SandboxFolder(workshop.settings.sandboxes / record.id)
        self.box: Box | None = None
        self.routes = Routes(workshop.host)
        self.verdicts = Verdicts()
        self.commands = CommandHistory(self.folder.commands)
        self.workshop.snapshots.hold(record)
        self._turn = asyncio.Lock()
        self._beginning: asyncio.Task[None] | None = None
        self._expiry: asyncio.TimerHandle | None = None
        self._tasks: set[asyncio.Task[object]] = set()

    @property
    def environment(self) -> dict[str, str]:
        trusted = trust.ENVIRONMENT if self.policy.rules else {}
        return {**self.workshop.surroundings.environment, **trusted, **self.record.env}

    @property
    def can_resume(self) -> bool:
        """Whether there is a snapshot, or a disk that a session has once run on; a failed start leaves half of one."""
        has_run = any(session.started_at for session in self.record.sessions)
        return self.workshop.snapshots.has(self.record.current_snapshot) or (self.folder.disk.is_dir() and has_run)

    @property
    def has_died(self) -> bool:
        """Whether the session counts as running, and its processes are gone."""
        return self.box is not None and self.box.guest.gone.is_set()

    @property
    def policy(self) -> NetworkPolicy:
        """The policy in force; `record.policy` is the one that the next session starts with."""
        return self.box.egress.policy if self.box else self.record.policy

    def begin_session(self, provision: Provision | None = None) -> "asyncio.Task[None]":
        """Start a session and let `provision` fill it, unless one is starting already; `stop` cancels it.

        When the task fails the session has failed and nothing runs.
        """
        if self._beginning is None or self._beginning.done():
            self._beginning = asyncio.create_task(self._begin(provision))
        return self._beginning

    async def stop(self, outcome: Status = Status.STOPPED, *, keep: bool = True) -> SnapshotRecord | None:
        """End the session, also one that is only starting. Nothing to end is fine.

        What a persistent sandbox has is kept in a snapshot, unless it is not to `keep` anything.
        """
        if self._beginning and not self._beginning.done():
            self._beginning.cancel()
            await asyncio.wait([self._beginning])
        async with self._turn:
            if not await self._end(Status.STOPPING):
                return None
            taken = None
            try:
                if self.record.persistent and keep:
                    taken = await self._take(Method.AUTOMATIC, None)
            except (OSError, LaunchError) as error:  # nothing is lost: the next session goes on with the same disk
                log.error("no snapshot is taken", sandbox=self.record.id, reason=str(error))  # noqa: TRY400
            finally:
                self._mark(outcome, stopped_at=now())
            if not self.record.persistent:
                self.workshop.trash.discard(self.folder, keep_record=True)
            return taken

    async def end(self, reason: str) -> None:
        """Stop what used more than it may, and tell every command that still runs."""
        log.warning("a sandbox is stopped", sandbox=self.record.id, reason=reason)
        self.verdicts.ending = f"the sandbox was stopped: {reason}"
        await asyncio.shield(self._later(self.stop()))  # half an end would leave its network behind

    async def snapshot(self, session_id: str, expiration: int | None) -> SnapshotRecord:
        """End the session and keep its disk. Raises `ApiError` 410 when it does not run, 507 on a full disk."""
        await self.running(session_id)
        async with self._turn:
            if session_id != self.record.session.id or not await self._end(Status.SNAPSHOTTING):
                raise sandbox_stopped(session_id)
            try:
                return await self._take(Method.MANUAL, expiration)
            except (OSError, LaunchError) as error:
                raise ApiError(507, "insufficient_storage", f"the snapshot is not written: {error}") from error
            finally:
                self._mark(Status.STOPPED, stopped_at=now())  # and the disk stays, if there is no snapshot

    async def close(self, *, keep: bool = True) -> None:
        """Stop, and give the host's ports back."""
        await self.stop(keep=keep)
        await self.routes.close()

    async def running(self, session_id: str) -> Box:
        """The box of a session, once it runs. Raises `ApiError` 410 when it runs no more."""
        if self._beginning and not self._beginning.done():
            await asyncio.wait([self._beginning])
        async with self._turn:  # a session that is stopping must be gone before the SDK hears that it may resume
            pass
        if self.box is None or session_id != self.record.session.id:
            raise sandbox_stopped(session_id)
        return self.box

    def open_routes(self, ports: Iterable[int]) -> None:
        """Keep exactly these routes; one that was there before keeps its host port."""
        for relay in self.routes.open(ports, self.record.routes):
            self._later(relay.close())
        self.record = replace(self.record, routes=self.routes.host_ports)

    def start_from(self, snapshot: str) -> None:
        """Let the next session start from this snapshot; raises `ApiError` 410 when there is no such."""
        self.workshop.snapshots.use(snapshot)
        if self.record.status in ENDED:
            self.workshop.trash.discard(self.folder, keep_record=True)
        self.change(current_snapshot=snapshot)

    def change(self, **changes: Any) -> None:
        self.record = replace(self.record, **changes, updated_at=now())
        self.workshop.snapshots.hold(self.record)
        try:
            save(self.folder.record, self.record)
        except OSError as error:
            # A full disk must not keep a sandbox from being stopped, which is what makes room.
            log.error("a sandbox's record is not on disk", sandbox=self.record.id, reason=str(error))  # noqa: TRY400

    def extend(self, duration: int) -> None:
        """Let the session run `duration` milliseconds longer."""
        self.change(sessions=self._changed_sessions(timeout=self.record.session.timeout + duration))
        self._arm_expiry()

    def place(self, cwd: str | None) -> str:
        """An absolute working directory."""
        return CWD if cwd is None else cwd if cwd.startswith("/") else f"{CWD}/{cwd}"

    async def _begin(self, provision: Provision | None) -> None:
        async with self._turn:
            if self.box is not None:
                return
            box = await self._launch()
            try:
                if provision:
                    await provision(box)
                self._open(box)
            except BaseException:
                await box.close()
                await self.workshop.drives.detach(self.record.session.id)
                self._mark(Status.FAILED, stopped_at=now())
                raise

    async def _launch(self) -> Box:
        if self.record.status in ENDED:
            fresh = new_session(self.record.timeout)
            earlier = self.record.sessions[1 - _MOST_SESSIONS :]
            self.change(sessions=(*earlier, fresh), status=Status.PENDING, status_updated_at=now())
        group: Group | None = None
        try:
            overlay = await self._prepare_disk()
            attached = await self.workshop.drives.attach(self.record.name, self.record.session.id, self.record.mounts)
            group = self.workshop.group_of(self.record)
            self.verdicts = Verdicts(group, self.record.memory)
            return await launch(
                self.workshop.launcher,
                self.workshop.surroundings,
                disk=self.workshop.disk_of(self.record),
                limits=process_limits(self.workshop.settings, self.record.memory),
                policy=self.record.policy,
                group=group,
                gateway=self.workshop.gateway,
                overlays=[*([overlay] if overlay else []), *attached.overlays],
                binds=attached.binds,
            )
        except BaseException:
            if group:
                group.remove()
            await self.workshop.drives.detach(self.record.session.id)
            self._mark(Status.FAILED, stopped_at=now())
            raise

    async def _prepare_disk(self) -> Overlay | None:
        """The disk with what no snapshot has yet, or a fresh one over the current snapshot."""
        snapshots = self.workshop.snapshots
        if not self.folder.disk.is_dir():
            self.change(layers=snapshots.use(self.record.current_snapshot).layers)
        overlay = await snapshots.layers.prepare(self.folder, self.record.layers)
        if overlay is None:  # a disk that is whole, maybe since it has just been copied
            self.change(layers=())
        return overlay

    def _open(self, box: Box) -> None:
        self.box = box
        self.routes.connect(box.guest)
        self._mark(Status.RUNNING, started_at=now())
        self._arm_expiry()
        self._later(self._watch(box))

    async def _watch(self, box: Box) -> None:
        """A sandbox whose PID 1 ends by itself was killed from outside, such as for want of memory."""
        await box.guest.gone.wait()
        if self.box is box and self.record.status is Status.RUNNING:
            log.warning("sandbox ended by itself", sandbox=self.record.id)
            await self.stop(Status.ABORTED)

    async def _end(self, meanwhile: Status) -> bool:
        """End all processes; false when there are none."""
        if self.box is None:
            return False
        self._mark(meanwhile)
        if self._expiry:
            self._expiry.cancel()
        box, self.box = self.box, None
        await box.close()
        await self.routes.disconnect()
        await self.commands.all_ended()
        await self.workshop.drives.detach(self.record.session.id)
        return True

    async def _take(self, method: Method, expiration: int | None) -> SnapshotRecord:
        snapshots = self.workshop.snapshots
        size = await snapshots.layers.measure(self.folder.disk)
        taken = snapshots.take(self.record, self.folder, size, method, expiration)
        self.change(current_snapshot=taken.id, layers=())
        snapshots.retain(self.record)
        return taken

    def _arm_expiry(self) -> None:
        if self._expiry:
            self._expiry.cancel()
        session = self.record.session
        left = ((session.started_at or now()) + session.timeout - now()) / 1000
        self._expiry = asyncio.get_running_loop().call_later(max(0.0, left), self._expire, session.timeout)

    def _expire(self, limit: int) -> None:
        self._later(self.end(f"it has run for {limit / 1000:g} s, its time limit"))

    def _mark(self, status: Status, **session_changes: Any) -> None:
        sessions = self._changed_sessions(status=status, **session_changes)
        self.change(status=status, status_updated_at=now(), sessions=sessions)

    def _changed_sessions(self, **changes: Any) -> tuple[SessionRecord, ...]:
        *earlier, last = self.record.sessions
        return (*earlier, replace(last, **changes))

    def _later(self, work: Coroutine[Any, Any, object]) -> "asyncio.Task[object]":
        task: asyncio.Task[object] = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task
