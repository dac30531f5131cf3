"""What the engine remembers across restarts: sandboxes, their sessions and commands, and snapshots, as JSON files."""

import errno
import os
import time
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import TypeVar
from uuid import uuid4

import msgspec

from bot.engine.policy import NetworkPolicy


class Status(StrEnum):
    """The Sandbox API's words; closed, since clients refuse others."""

    PENDING = "pending"
    RUNNING = "running"
    STOPPING = "stopping"
    STOPPED = "stopped"
    FAILED = "failed"
    ABORTED = "aborted"
    SNAPSHOTTING = "snapshotting"


ENDED = frozenset({Status.STOPPED, Status.FAILED, Status.ABORTED})


@dataclass(frozen=True, slots=True)
class SessionRecord:
    """One run of a sandbox. Times are milliseconds since the epoch, `timeout` milliseconds since `started_at`."""

    id: str
    status: Status
    timeout: int
    requested_at: int
    started_at: int | None = None
    stopped_at: int | None = None


@dataclass(frozen=True, slots=True)
class Layer:
    """A folder of files that never changes again, and the `size` in bytes of what it adds to those below it."""

    id: str
    size: int


class MountMode(StrEnum):
    READ_WRITE = "read-write"
    SNAPSHOT = "snapshot"


@dataclass(frozen=True, slots=True)
class Mount:
    """A drive, by its name, as one sandbox sees it."""

    drive: str
    mode: MountMode


@dataclass(frozen=True, slots=True)
class DriveRecord:
    """`layers` is what is committed. The parent is what it is a fork of, the root the first of them all."""

    id: str
    name: str
    project: str
    max_size: int
    created_at: int
    updated_at: int
    layers: tuple[Layer, ...]
    parent: str | None
    root: str


@dataclass(frozen=True, slots=True)
class Retention:
    """The newest `count` snapshots of a sandbox are kept for `expiration` ms from their last use, 0 for ever."""

    count: int
    expiration: int | None = None
    delete_evicted: bool = True


@dataclass(frozen=True, slots=True)
class SandboxRecord:
    """`routes` maps a port inside to the host's port; `repository` is the base name of what was cloned.

    A session starts from `current_snapshot`, unless the disk has changes that no snapshot has: those lie over `layers`.
    """

    id: str
    name: str
    project: str
    status: Status
    created_at: int
    updated_at: int
    status_updated_at: int
    persistent: bool
    timeout: int
    vcpus: int
    memory: int
    env: dict[str, str]
    tags: dict[str, str]
    policy: NetworkPolicy
    routes: dict[int, int]
    repository: str | None
    sessions: tuple[SessionRecord, ...]
    layers: tuple[Layer, ...] = ()
    current_snapshot: str | None = None
    snapshot_expiration: int | None = None
    retention: Retention | None = None
    mounts: dict[str, Mount] = field(default_factory=dict)

    @property
    def session(self) -> SessionRecord:
        return self.sessions[-1]


@dataclass(frozen=True, slots=True)
class CommandRecord:
    """`exit_code` is none while it runs."""

    id: str
    session_id: str
    name: str
    args: tuple[str, ...]
    cwd: str
    started_at: int
    exit_code: int | None = None
    ended_at: int | None = None


class Method(StrEnum):
    """Who wanted a snapshot: somebody who asked for it, or a persistent sandbox that was stopped."""

    MANUAL = "manual"
    AUTOMATIC = "automatic"


@dataclass(frozen=True, slots=True)
class SnapshotRecord:
    """The topmost of `layers` is its own, the others it shares. `expiration` is milliseconds from `last_used_at`.

    `boot` is the boot of the machine in which the layer was written, none as soon as it is safe on disk.
    """

    id: str
    sandbox: str
    sandbox_name: str
    session_id: str
    repository: str | None
    layers: tuple[Layer, ...]
    method: Method
    created_at: int
    updated_at: int
    last_used_at: int
    expiration: int
    parent: str | None
    boot: str | None

    @property
    def expires_at(self) -> int | None:
        return self.last_used_at + self.expiration if self.expiration else None


def new_session(timeout: int) -> SessionRecord:
    return SessionRecord(id=f"sess_{uuid4().hex}", status=Status.PENDING, timeout=timeout, requested_at=now())


def now() -> int:
    """Milliseconds since the epoch."""
    return time.time_ns() // 1_000_000


Record = TypeVar("Record", SandboxRecord, CommandRecord, SnapshotRecord, DriveRecord)


def save(path: Path, record: SandboxRecord | CommandRecord | SnapshotRecord | DriveRecord) -> None:
    """Replace the file in one step: a crash or a full disk leaves the old record or the new one."""
    fresh, content = path.with_suffix(".new"), msgspec.json.encode(record)
    descriptor = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
    try:
        if os.write(descriptor, content) != len(content):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(fresh))
    finally:
        os.close(descriptor)
    fresh.replace(path)


def load(path: Path, kind: type[Record]) -> Record | None:
    """The record, or nothing if there is none or it cannot be understood."""
    try:
        return msgspec.json.decode(path.read_bytes(), type=kind)
    except (FileNotFoundError, msgspec.DecodeError):
        return None
