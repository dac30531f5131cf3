"""What the engine remembers across restarts: sandboxes, their sessions and their commands, as JSON files."""

import os
import time
from dataclasses import dataclass
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
class SandboxRecord:
    """`routes` maps a port inside to the host's port; `repository` is the base name of what was cloned."""

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


def new_session(timeout: int) -> SessionRecord:
    return SessionRecord(id=f"sess_{uuid4().hex}", status=Status.PENDING, timeout=timeout, requested_at=now())


def now() -> int:
    """Milliseconds since the epoch."""
    return time.time_ns() // 1_000_000


Record = TypeVar("Record", SandboxRecord, CommandRecord)


def save(path: Path, record: SandboxRecord | CommandRecord) -> None:
    """Replace the file in one step: a crash leaves the old record or the new one."""
    fresh = path.with_suffix(".new")
    descriptor = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
    try:
        os.write(descriptor, msgspec.json.encode(record))
    finally:
        os.close(descriptor)
    fresh.replace(path)


def load(path: Path, kind: type[Record]) -> Record | None:
    """The record, or nothing if there is none or it cannot be understood."""
    try:
        return msgspec.json.decode(path.read_bytes(), type=kind)
    except (FileNotFoundError, msgspec.DecodeError):
        return None
