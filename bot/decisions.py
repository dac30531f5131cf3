"""Decisions in the database: bring up a commit, wait for approval, take down. Each bumps the generation once."""

import sqlalchemy as sa

from bot.preview import CommitSha, Phase, Preview, StopReason
from bot.previews import changed
from bot.store import Store, now
from bot.tables import launch, preview

_ENDED = [phase for phase in Phase if phase.ended]


class Decisions:
    """Writes what is wanted. Repeating a decision that already stands changes nothing."""

    def __init__(self, store: Store) -> None:
        self._store = store

    async def launch(
        self, current: Preview, sha: CommitSha, *, requested_at: float, approved: bool = False, again: bool = False
    ) -> int:
        """Want `sha` to run; the generation of its launch is returned.

        A launch of that commit that stands or is under way is kept, unless `again`; a failed one only when nobody
        asked again. Older launches become superseded in the same transaction.
        """

        def work(db: sa.Connection) -> int:
            row = _lock(db, current)
            newest = _newest(db, current.id)
            stands = newest is not None and newest["generation"] == row["generation"] and newest["sha"] == sha
            idle = {Phase.AWAITING_APPROVAL, Phase.SUPERSEDED, Phase.STOPPED}
            if row["wanted"] and stands and newest and newest["phase"] not in idle and not again:
                return int(row["generation"])
            generation = _next(db, row, wanted=True, held=False, stop_reason=None, **_approval(sha, approved))
            _supersede(db, current.id)
            _insert(db, current.id, generation, sha=sha, phase=Phase.QUEUED, requested_at=requested_at)
            return generation

        return await self._store.run(work)

    async def await_approval(self, current: Preview, sha: CommitSha, *, requested_at: float) -> bool:
        """Show that `sha` waits for a maintainer; whatever ran before is no longer wanted. False: it shows already."""

        def work(db: sa.Connection) -> bool:
            row = _lock(db, current)
            newest = _newest(db, current.id)
            if newest is not None and newest["sha"] == sha and newest["phase"] == Phase.AWAITING_APPROVAL:
                return False
            generation = _next(db, row, wanted=False, stop_reason=None)
            _supersede(db, current.id)
            _insert(db, current.id, generation, sha=sha, phase=Phase.AWAITING_APPROVAL, requested_at=requested_at)
            return True

        return await self._store.run(work)

    async def stop(self, current: Preview, reason: StopReason, *, hold: bool = False) -> bool:
        """Want nothing to run. False: that was so already."""

        def work(db: sa.Connection) -> bool:
            row = _lock(db, current)
            newest = _newest(db, current.id)
            down = not row["wanted"] and row["stop_reason"] and (newest is None or newest["phase"] in _ENDED)
            if down and (row["held"] or not hold):
                return False
            _next(db, row, wanted=False, held=hold, stop_reason=reason, approved_sha=None)
            return True

        return await self._store.run(work)

    async def forget_box(self, current: Preview, generation: int) -> None:
        """The sandbox is gone: nothing stands in it any more, unless a newer decision was made."""
        mine = sa.and_(preview.c.id == current.id, preview.c.generation == generation)
        await self._store.run(lambda db: db.execute(sa.update(preview).where(mine).values(box=None)))

    async def stopped(self, current: Preview, generation: int) -> None:
        """The sandbox is confirmed gone: the newest launch ends as stopped, unless a newer decision was made.

        One that waits for approval goes on waiting, unless the preview as a whole was stopped.
        """

        def work(db: sa.Connection) -> None:
            row = _lock(db, current)
            if row["generation"] != generation or row["wanted"]:
                return
            newest = _newest(db, current.id)
            waits = newest is not None and newest["phase"] == Phase.AWAITING_APPROVAL and not row["stop_reason"]
            if newest is not None and newest["phase"] not in _ENDED and not waits:
                ended = {"phase": Phase.STOPPED, "phase_since": now(), "stop_reason": row["stop_reason"]}
                db.execute(sa.update(launch).where(_is(current.id, newest["generation"])).values(ended))
            db.execute(sa.update(preview).where(preview.c.id == current.id).values(box=None))
            changed(db, current.id)

        await self._store.run(work)


def _lock(db: sa.Connection, current: Preview) -> sa.RowMapping:
    return db.execute(sa.select(preview).where(preview.c.id == current.id).with_for_update()).mappings().one()


def _newest(db: sa.Connection, preview_id: int) -> sa.RowMapping | None:
    query = sa.select(launch).where(launch.c.preview_id == preview_id).order_by(launch.c.generation.desc()).limit(1)
    return db.execute(query).mappings().first()


def _next(db: sa.Connection, row: sa.RowMapping, **values: object) -> int:
    generation = int(row["generation"]) + 1
    update = sa.update(preview).where(preview.c.id == row["id"])
    db.execute(update.values(generation=generation, version=preview.c.version + 1, **values))
    return generation


def _supersede(db: sa.Connection, preview_id: int) -> None:
    older = sa.and_(launch.c.preview_id == preview_id, launch.c.phase.not_in(_ENDED))
    db.execute(sa.update(launch).where(older).values(phase=Phase.SUPERSEDED, phase_since=now()))


def _insert(
    db: sa.Connection, preview_id: int, generation: int, *, sha: str, phase: Phase, requested_at: float
) -> None:
    row = {"preview_id": preview_id, "generation": generation, "sha": sha, "phase": phase}
    db.execute(sa.insert(launch).values(**row, requested_at=requested_at, phase_since=now()))


def _is(preview_id: int, generation: int) -> sa.ColumnElement[bool]:
    return sa.and_(launch.c.preview_id == preview_id, launch.c.generation == generation)


def _approval(sha: CommitSha, approved: bool) -> dict[str, object]:
    return {"approved_sha": sha} if approved else {}
