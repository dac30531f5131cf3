"""Previews and launches in the database. A run may write only while its generation is the current one."""

import dataclasses
from typing import Any

import sqlalchemy as sa
from sqlalchemy.dialects import postgresql, sqlite

from bot.errors import Superseded
from bot.names import sandbox_name
from bot.preview import (
    NEXT,
    Box,
    CommitSha,
    Failure,
    Launch,
    Phase,
    Preview,
    RepoId,
    RepoName,
    Repository,
    StopReason,
)
from bot.store import Store, now
from bot.tables import launch, preview

COMMENT_CLAIM_SECONDS = 60.0
"""How long one process may take to create the comment before another may try."""

_WORK = (Phase.QUEUED, Phase.FETCHING, Phase.DETECTING, Phase.INSTALLING, Phase.BUILDING, Phase.STARTING, Phase.READY)
"""The phases of a run, in their order."""


class Previews:
    """Reads and writes previews; every method is one transaction and safe to repeat."""

    def __init__(self, store: Store) -> None:
        self._store = store

    async def ensure(self, repository: Repository, number: int) -> Preview:
        """The preview of this pull request, made if there is none; the repository's facts are brought up to date."""

        def work(db: sa.Connection) -> Preview:
            key = {"repo_id": repository.id, "number": number}
            facts = {
                "repo_name": repository.name,
                "clone_url": repository.clone_url,
                "private": repository.private,
                "installation_id": repository.installation_id,
            }
            insert = (postgresql if db.dialect.name == "postgresql" else sqlite).insert(preview)
            row = {**key, **facts, "sandbox_name": sandbox_name(repository.id, number)}
            db.execute(insert.values(row).on_conflict_do_update(index_elements=list(key), set_=facts))
            return _one(db, sa.and_(preview.c.repo_id == repository.id, preview.c.number == number))

        return await self._store.run(work)

    async def get(self, preview_id: int) -> Preview:
        """One preview by its id. Raises LookupError."""
        return await self._store.run(lambda db: _one(db, preview.c.id == preview_id))

    async def find(self, repo_id: RepoId, number: int) -> Preview | None:
        """The preview of a pull request, if it ever had one."""
        return await self._first(sa.and_(preview.c.repo_id == repo_id, preview.c.number == number))

    async def find_by_name(self, repo_name: str, number: int) -> Preview | None:
        """The preview that a person names as `owner/name#number`; letter case does not matter, as on GitHub."""
        name = sa.func.lower(preview.c.repo_name) == repo_name.lower()
        return await self._first(sa.and_(name, preview.c.number == number))

    async def all(self, *, unreported: bool = False) -> list[Preview]:
        """Every preview, or those whose last change GitHub does not show yet; oldest first."""

        def work(db: sa.Connection) -> list[Preview]:
            query = sa.select(preview).order_by(preview.c.id)
            if unreported:
                query = query.where(preview.c.version != preview.c.reported_version)
            return [_read(db, row) for row in db.execute(query).mappings()]

        return await self._store.run(work)

    async def _first(self, condition: sa.ColumnElement[bool]) -> Preview | None:
        def work(db: sa.Connection) -> Preview | None:
            row = db.execute(sa.select(preview).where(condition)).mappings().first()
            return _read(db, row) if row else None

        return await self._store.run(work)

    async def enter(self, preview_id: int, generation: int, phase: Phase, **facts: Any) -> None:
        """Move a launch to `phase`, with columns to set. Raises Superseded when a newer decision was made.

        Entering the phase it is in changes only the facts; so does a phase that lies behind, for a step that is
        repeated after a crash begins at its beginning.
        """

        def work(db: sa.Connection) -> None:
            current = _current(db, preview_id, generation)
            values = dict(facts)
            if current.phase is not phase and not _lies_behind(phase, current.phase):
                if phase not in NEXT[current.phase]:
                    raise Superseded(f"a launch cannot go from {current.phase} to {phase}")
                spent = {**current.timings, current.phase: round(now() - current.phase_since, 3)}
                values |= {"phase": phase, "phase_since": now(), "timings": spent}
            _write(db, preview_id, generation, values)

        await self._store.run(work)

    async def fail(self, preview_id: int, generation: int, failure: Failure) -> None:
        """End a launch as failed. Raises Superseded when a newer decision was made."""
        await self.enter(preview_id, generation, Phase.FAILED, failure=dataclasses.asdict(failure))

    async def note(self, preview_id: int, generation: int, text: str) -> None:
        """Add one sentence that the comment shows. Saying it twice shows it once."""

        def work(db: sa.Connection) -> None:
            notes = _current(db, preview_id, generation).notes
            if text not in notes:
                _write(db, preview_id, generation, {"notes": [*notes, text]})

        await self._store.run(work)

    async def check_current(self, preview_id: int, generation: int) -> Launch:
        """The launch, if it is the wanted one. Raises Superseded."""
        return await self._store.run(lambda db: _current(db, preview_id, generation))

    async def set_box(self, preview_id: int, generation: int, box: Box | None) -> None:
        """Record what stands in the sandbox. Raises Superseded when a newer decision was made."""

        def work(db: sa.Connection) -> None:
            _current(db, preview_id, generation)
            value = dataclasses.asdict(box) if box else None
            db.execute(sa.update(preview).where(preview.c.id == preview_id).values(box=value))

        await self._store.run(work)

    async def reported(self, preview_id: int, version: int) -> None:
        """Remember that GitHub shows this version."""
        update = sa.update(preview).where(preview.c.id == preview_id, preview.c.reported_version < version)
        await self._store.run(lambda db: db.execute(update.values(reported_version=version)))

    async def claim_comment(self, preview_id: int) -> bool:
        """Whether the caller may create the comment now; the claim lapses after COMMENT_CLAIM_SECONDS."""
        free = sa.or_(preview.c.comment_claim.is_(None), preview.c.comment_claim < now() - COMMENT_CLAIM_SECONDS)
        update = sa.update(preview).where(preview.c.id == preview_id, free).values(comment_claim=now())
        return await self._store.run(lambda db: db.execute(update).rowcount == 1)

    async def set_comment(self, preview_id: int, comment_id: int | None) -> None:
        """Remember which comment is ours, and give the claim back."""
        update = sa.update(preview).where(preview.c.id == preview_id)
        await self._store.run(lambda db: db.execute(update.values(comment_id=comment_id, comment_claim=None)))


def release_comment_claims(db: sa.Connection) -> None:
    """At the start of the only process on this database: nobody is writing a comment for the first time."""
    db.execute(sa.update(preview).values(comment_claim=None))


def _lies_behind(phase: Phase, current: Phase) -> bool:
    return phase in _WORK and current in _WORK and _WORK.index(phase) < _WORK.index(current)


def _one(db: sa.Connection, condition: sa.ColumnElement[bool]) -> Preview:
    row = db.execute(sa.select(preview).where(condition)).mappings().first()
    if row is None:
        raise LookupError("no such preview")
    return _read(db, row)


def _current(db: sa.Connection, preview_id: int, generation: int) -> Launch:
    row = db.execute(sa.select(preview).where(preview.c.id == preview_id).with_for_update()).mappings().first()
    found = _read(db, row).launch if row and row["generation"] == generation else None
    if found is None or found.generation != generation or found.phase.ended:
        raise Superseded(f"launch {generation} of preview {preview_id} is not the wanted one any more")
    return found


def _write(db: sa.Connection, preview_id: int, generation: int, values: dict[str, Any]) -> None:
    if values:
        row = sa.and_(launch.c.preview_id == preview_id, launch.c.generation == generation)
        db.execute(sa.update(launch).where(row).values(values))
        changed(db, preview_id)


def changed(db: sa.Connection, preview_id: int) -> None:
    """Mark that there is something new to tell."""
    db.execute(sa.update(preview).where(preview.c.id == preview_id).values(version=preview.c.version + 1))


def _read(db: sa.Connection, row: sa.RowMapping) -> Preview:
    newest = sa.select(launch).where(launch.c.preview_id == row["id"]).order_by(launch.c.generation.desc()).limit(1)
    found = db.execute(newest).mappings().first()
    return Preview(
        id=row["id"],
        repository=Repository(
            RepoId(row["repo_id"]), RepoName(row["repo_name"]), row["clone_url"], row["private"], row["installation_id"]
        ),
        number=row["number"],
        sandbox_name=row["sandbox_name"],
        generation=row["generation"],
        wanted=row["wanted"],
        held=row["held"],
        stop_reason=StopReason(row["stop_reason"]) if row["stop_reason"] else None,
        approved_sha=CommitSha(row["approved_sha"]) if row["approved_sha"] else None,
        comment_id=row["comment_id"],
        version=row["version"],
        reported_version=row["reported_version"],
        box=Box(**row["box"]) if row["box"] else None,
        launch=_read_launch(found) if found else None,
    )


def _read_launch(row: sa.RowMapping) -> Launch:
    failure = row["failure"]
    return Launch(
        preview_id=row["preview_id"],
        generation=row["generation"],
        sha=CommitSha(row["sha"]),
        phase=Phase(row["phase"]),
        requested_at=row["requested_at"],
        phase_since=row["phase_since"],
        ready_at=row["ready_at"],
        url=row["url"],
        in_place=row["in_place"],
        plan=row["plan"],
        notes=tuple(row["notes"] or ()),
        timings=dict(row["timings"] or {}),
        failure=Failure(**{**failure, "phase": Phase(failure["phase"])}) if failure else None,
        stop_reason=StopReason(row["stop_reason"]) if row["stop_reason"] else None,
    )
