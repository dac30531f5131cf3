"""Deliveries between their arrival and their effect: stored before the answer, acted on later, tried again on trouble.

A row is the durable wake-up. It counts as done when it was *processed*, not when it was seen: GitHub repeats an id when
somebody presses *Redeliver*, and a delivery whose first run died must not be swallowed.
"""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Protocol

import sqlalchemy as sa
import structlog
from sqlalchemy.dialects import postgresql, sqlite

from bot.errors import OperatorFault, PreviewError, WorldFault
from bot.store import Store, StoreUnavailable, now
from bot.tables import delivery

log = structlog.get_logger()

CLAIM_SECONDS = 60.0
"""How long one process may work on a delivery before another takes it for dead."""
POLL_SECONDS = 1.0
"""How often to look for deliveries that another process stored, or that are due again."""
MAX_BACKOFF_SECONDS = 300.0
AT_ONCE = 16
"""How many deliveries are acted on at the same time."""


class Incoming(Protocol):
    """What the inbox needs to know of a delivery."""

    @property
    def id(self) -> str: ...
    @property
    def event(self) -> str: ...
    @property
    def body(self) -> bytes: ...


@dataclass(frozen=True, slots=True)
class Stored:
    """A delivery as it was stored. `received_at` is when it reached us, in seconds since the epoch."""

    id: str
    event: str
    body: bytes
    received_at: float
    attempts: int = 0


class Inbox:
    """Stores deliveries in groups (one commit for all that arrived during the last one) and acts on them."""

    def __init__(self, store: Store, act: Callable[[Stored], Awaitable[str]]) -> None:
        """`act` does what a delivery asks for and returns a few words for the log."""
        self._store = store
        self._act = act
        self._arrived: list[tuple[Incoming, asyncio.Future[bool]]] = []
        self._committing: asyncio.Task[None] | None = None
        self._ready = asyncio.Event()
        self._slots = asyncio.Semaphore(AT_ONCE)
        self._acting: set[asyncio.Task[None]] = set()

    async def put(self, incoming: Incoming) -> bool:
        """Store a delivery durably. False: it was processed before. Raises StoreUnavailable."""
        done: asyncio.Future[bool] = asyncio.get_running_loop().create_future()
        self._arrived.append((incoming, done))
        if self._committing is None or self._committing.done():
            self._committing = asyncio.create_task(self._commit())
        return await done

    async def _commit(self) -> None:
        while self._arrived:
            group, self._arrived = self._arrived, []
            rows = [incoming for incoming, _ in group]
            try:
                processed = await self._store.run(lambda db, rows=rows: _insert(db, rows))  # type: ignore[misc]
            except Exception as error:
                for _, done in group:
                    if not done.done():
                        done.set_exception(
                            error if isinstance(error, PreviewError) else StoreUnavailable(f"cannot store: {error}")
                        )
                continue
            for incoming, done in group:
                if not done.done():
                    done.set_result(incoming.id not in processed)
            self._ready.set()

    async def serve(self) -> None:
        """Act on what is due, until cancelled."""
        while True:
            self._ready.clear()
            try:
                due = await self._store.run(_claim)
            except StoreUnavailable as error:
                log.warning("inbox.unavailable", reason=str(error))
                due = []
            for stored in due:
                await self._slots.acquire()
                task = asyncio.create_task(self._process(stored))
                self._acting.add(task)
                task.add_done_callback(self._acting.discard)
            if not due:
                await _wait(self._ready, POLL_SECONDS)

    async def _process(self, stored: Stored) -> None:
        bound = log.bind(delivery=stored.id, event_name=stored.event)
        try:
            outcome = await self._act(stored)
        except (WorldFault, OperatorFault) as error:  # an operator mends it, and the delivery is not lost meanwhile
            wanted = error.retry_after if isinstance(error, WorldFault) else None
            delay = wanted or min(MAX_BACKOFF_SECONDS, 0.5 * 2 ** min(stored.attempts, 16))
            tell = bound.warning if isinstance(error, WorldFault) else bound.error
            tell("delivery.retry", reason=str(error), seconds=delay)
            await self._settle(stored, due_at=now() + delay, outcome=str(error))
        except Exception as error:
            bound.exception("delivery.failed")
            await self._settle(stored, processed_at=now(), outcome=f"{type(error).__name__}: {error}")
        else:
            bound.info("delivery.processed", outcome=outcome)
            await self._settle(stored, processed_at=now(), outcome=outcome)
        finally:
            self._slots.release()

    async def _settle(self, stored: Stored, **values: object) -> None:
        update = sa.update(delivery).where(delivery.c.id == stored.id)
        try:
            await self._store.run(lambda db: db.execute(update.values(attempts=stored.attempts + 1, **values)))
        except StoreUnavailable as error:  # the claim lapses and the delivery is acted on again
            log.warning("inbox.unavailable", delivery=stored.id, reason=str(error))

    async def close(self) -> None:
        """Let a commit under way finish; what is being acted on is cut short and due again at the next start."""
        if self._committing:
            await asyncio.gather(self._committing, return_exceptions=True)
        for task in list(self._acting):
            task.cancel()
        await asyncio.gather(*self._acting, return_exceptions=True)


def release_claims(db: sa.Connection) -> None:
    """At the start of the only process on this database: what its predecessor was busy with is due at once."""
    db.execute(sa.update(delivery).where(delivery.c.processed_at.is_(None)).values(due_at=now()))


def prune(db: sa.Connection, older_than: float) -> int:
    """Forget processed deliveries that arrived before that time; the number of them is returned."""
    old = sa.and_(delivery.c.processed_at.is_not(None), delivery.c.received_at < older_than)
    return db.execute(sa.delete(delivery).where(old)).rowcount


def put_now(db: sa.Connection, incoming: Incoming) -> None:
    """Store a delivery of our own making, within the caller's transaction."""
    _insert(db, [incoming])


def _insert(db: sa.Connection, rows: list[Incoming]) -> set[str]:
    """Insert what is new; ids that were processed before are returned."""
    at = now()
    values = [{"id": r.id, "event": r.event, "body": r.body, "received_at": at, "due_at": at} for r in rows]
    insert = (postgresql if db.dialect.name == "postgresql" else sqlite).insert(delivery)
    db.execute(insert.on_conflict_do_nothing(index_elements=["id"]), values)
    known = sa.select(delivery.c.id).where(
        delivery.c.id.in_([r.id for r in rows]), delivery.c.processed_at.is_not(None)
    )
    return set(db.execute(known).scalars())


def _claim(db: sa.Connection) -> list[Stored]:
    due = sa.and_(delivery.c.processed_at.is_(None), delivery.c.due_at <= now())
    query = sa.select(delivery).where(due).order_by(delivery.c.received_at).limit(AT_ONCE)
    rows = db.execute(query.with_for_update(skip_locked=True)).mappings().all()
    ids = [row["id"] for row in rows]
    db.execute(sa.update(delivery).where(delivery.c.id.in_(ids)).values(due_at=now() + CLAIM_SECONDS))
    return [Stored(r["id"], r["event"], bytes(r["body"]), r["received_at"], r["attempts"]) for r in rows]


async def _wait(event: asyncio.Event, seconds: float) -> None:
    try:
        async with asyncio.timeout(seconds):
            await event.wait()
    except TimeoutError:
        pass
