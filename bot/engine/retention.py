"""How long snapshots are kept: decided from records and the time."""

from collections.abc import Iterable, Sequence

from bot.engine.records import SandboxRecord, SnapshotRecord

DEFAULT_LIFETIME = 7 * 86_400_000  # milliseconds from the last use


def lifetime(sandbox: SandboxRecord, asked: int | None) -> int:
    """Of a new snapshot, in milliseconds from its last use, 0 for ever: the most particular wish counts."""
    kept = sandbox.retention.expiration if sandbox.retention else None
    wishes = (asked, kept, sandbox.snapshot_expiration, DEFAULT_LIFETIME)
    return next(wish for wish in wishes if wish is not None)


def surplus(sandbox: SandboxRecord, newest_first: Sequence[SnapshotRecord]) -> Sequence[SnapshotRecord]:
    """The sandbox's own snapshots beyond those that it wants to keep."""
    return newest_first[sandbox.retention.count :] if sandbox.retention else ()


def expired(snapshots: Iterable[SnapshotRecord], moment: int) -> list[SnapshotRecord]:
    return [one for one in snapshots if one.expires_at is not None and one.expires_at <= moment]
