"""How snapshots descend from each other: decided from the records of those that are there."""

from collections.abc import Mapping

from bot.engine.records import SnapshotRecord

Snapshots = Mapping[str, SnapshotRecord]


def ancestors(record: SnapshotRecord, among: Snapshots) -> list[SnapshotRecord]:
    """Those that it was made from, nearest first, as far as they are there."""
    line: list[SnapshotRecord] = []
    while parent := among.get(record.parent or ""):
        record = parent
        line.append(record)
    return line


def descendants(record: SnapshotRecord, among: Snapshots) -> list[SnapshotRecord]:
    """One of each generation that was made from it: the newest child, then that one's newest child."""
    line: list[SnapshotRecord] = []
    while children := [one for one in among.values() if one.parent == record.id]:
        record = max(children, key=lambda one: (one.created_at, one.id))
        line.append(record)
    return line


def siblings(record: SnapshotRecord, among: Snapshots) -> list[SnapshotRecord]:
    """The others that were made from the same one."""
    if record.parent is None:
        return []
    return [one for one in among.values() if one.parent == record.parent and one.id != record.id]
