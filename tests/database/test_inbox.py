"""Deliveries from their arrival to their effect: none is lost, none is acted on twice without need."""

import asyncio
import dataclasses
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress

import pytest
import sqlalchemy as sa

from bot import inbox as inbox_module
from bot.errors import GitHubUnavailable
from bot.inbox import Inbox, Stored, prune, put_now, release_claims
from bot.store import StoreUnavailable, now
from bot.tables import delivery
from tests.forge_driver import until


@dataclasses.dataclass(frozen=True)
class Incoming:
    id: str
    event: str = "pull_request"
    body: bytes = b"{}"


@pytest.fixture(autouse=True)
def _impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(inbox_module, "POLL_SECONDS", 0.02)


@asynccontextmanager
async def serving(inbox: Inbox) -> AsyncIterator[None]:
    """The inbox acts; at the end it is cut short as at a shutdown."""
    task = asyncio.create_task(inbox.serve())
    try:
        yield
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task
        await inbox.close()


class Actor:
    """Acts on deliveries: notes them, and does what a test wants done the first times."""

    def __init__(self, *first: Callable[[], Awaitable[str]]) -> None:
        self.seen: list[Stored] = []
        self._first = list(first)

    async def __call__(self, stored: Stored) -> str:
        self.seen.append(stored)
        return await self._first.pop(0)() if self._first else "launched"

    @property
    def ids(self) -> list[str]:
        return [stored.id for stored in self.seen]


def rows(store) -> dict[str, sa.RowMapping]:
    found = store.run_now(lambda db: db.execute(sa.select(delivery)).mappings().all())
    return {row["id"]: row for row in found}


async def processed(store, *ids: str) -> None:
    async def done() -> bool:
        return all(rows(store)[each]["processed_at"] for each in ids)

    await until(done, what=f"{ids} to be processed")


async def forever() -> str:
    await asyncio.Event().wait()
    return "never"


async def test_what_was_put_is_there_for_another_process(store, open_store):
    assert await Inbox(store, Actor()).put(Incoming("one", body=b"\x00\xff"))
    row = rows(open_store())["one"]
    assert (row["event"], bytes(row["body"]), row["processed_at"], row["attempts"]) == (
        "pull_request", b"\x00\xff", None, 0,
    )  # fmt: skip


async def test_deliveries_that_arrive_together_are_stored_in_one_transaction(store, monkeypatch):
    transactions = []
    run = store.run
    monkeypatch.setattr(store, "run", lambda work: transactions.append(work) or run(work))
    inbox = Inbox(store, Actor())
    assert all(await asyncio.gather(*(inbox.put(Incoming(str(n))) for n in range(200))))
    assert len(rows(store)) == 200
    assert len(transactions) <= 2


async def test_the_same_delivery_five_times_is_acted_on_once(store):
    actor = Actor()
    inbox = Inbox(store, actor)
    async with serving(inbox):
        assert all(await asyncio.gather(*(inbox.put(Incoming("one")) for _ in range(5))))
        await processed(store, "one")
        assert not await inbox.put(Incoming("one"))
        assert await inbox.put(Incoming("two"))
        await processed(store, "two")
    assert actor.ids == ["one", "two"]
    assert rows(store)["one"]["outcome"] == "launched"


async def test_a_delivery_that_was_seen_but_not_processed_counts_as_new(store):
    inbox = Inbox(store, Actor())
    assert await inbox.put(Incoming("one"))
    assert await inbox.put(Incoming("one"))


async def test_the_world_s_fault_is_tried_again_until_it_passes(store):
    async def limited() -> str:
        raise GitHubUnavailable("limited", retry_after=0.05)

    actor = Actor(limited, limited)
    inbox = Inbox(store, actor)
    async with serving(inbox):
        await inbox.put(Incoming("one"))
        await processed(store, "one")
    assert [stored.attempts for stored in actor.seen] == [0, 1, 2]
    assert len({stored.received_at for stored in actor.seen}) == 1


async def test_without_a_given_pause_each_one_is_twice_as_long(store):
    async def down() -> str:
        raise GitHubUnavailable("down")

    inbox = Inbox(store, Actor(down, forever))
    await inbox.put(Incoming("one"))
    for attempts, pause in ((0, 0.5), (3, 4.0), (20, 300.0)):
        stored = Stored("one", "pull_request", b"{}", 0, attempts)
        await inbox._slots.acquire()
        inbox._act = Actor(down)
        before = now()
        await inbox._process(stored)
        row = rows(store)["one"]
        assert before + pause <= row["due_at"] <= now() + pause
        assert (row["attempts"], row["outcome"], row["processed_at"]) == (attempts + 1, "down", None)


async def test_a_bug_is_logged_once_and_not_repeated(store):
    async def bug() -> str:
        raise KeyError("oops")

    actor = Actor(bug)
    inbox = Inbox(store, actor)
    async with serving(inbox):
        await inbox.put(Incoming("one"))
        await processed(store, "one")
    assert actor.ids == ["one"]
    assert rows(store)["one"]["outcome"] == "KeyError: 'oops'"


async def test_what_a_crash_interrupted_is_due_at_the_next_start(store, open_store):
    interrupted, actor = Actor(forever), Actor()
    inbox = Inbox(store, interrupted)
    async with serving(inbox):
        await inbox.put(Incoming("one"))
        await until(lambda: asyncio.sleep(0, interrupted.seen), what="the delivery to be acted on")
    assert rows(store)["one"]["processed_at"] is None
    after = open_store()
    after.run_now(release_claims)
    async with serving(Inbox(after, actor)):
        await processed(after, "one")
    assert actor.ids == ["one"]


async def test_a_claim_that_lapses_lets_another_process_act(store, open_store, monkeypatch):
    monkeypatch.setattr(inbox_module, "CLAIM_SECONDS", 0.3)
    stuck, actor = Actor(forever), Actor()
    first, second = Inbox(store, stuck), Inbox(open_store(), actor)
    async with serving(first):
        await first.put(Incoming("one"))
        await until(lambda: asyncio.sleep(0, stuck.seen), what="the first to be stuck")
    async with serving(second):
        await processed(store, "one")
    assert actor.ids == ["one"]


async def test_processes_on_one_database_act_once_on_each_delivery(store, open_store):
    actors = [Actor(), Actor(), Actor()]
    first, second, third = (
        Inbox(each, actor) for each, actor in zip((store, open_store(), open_store()), actors, strict=True)
    )
    ids = [str(number) for number in range(60)]
    async with serving(first), serving(second), serving(third):
        await asyncio.gather(*(first.put(Incoming(each)) for each in ids))
        await processed(store, *ids)
    assert Counter(each for actor in actors for each in actor.ids) == Counter(ids)


async def test_a_delivery_that_cannot_be_stored_is_refused_and_the_inbox_goes_on(store, monkeypatch):
    run, broken = store.run, True

    async def flaky(work):
        if broken:
            raise StoreUnavailable("the disk is full")
        return await run(work)

    monkeypatch.setattr(store, "run", flaky)
    actor = Actor()
    inbox = Inbox(store, actor)
    async with serving(inbox):
        refused = await asyncio.gather(*(inbox.put(Incoming(str(n))) for n in range(3)), return_exceptions=True)
        assert [type(error) for error in refused] == [StoreUnavailable] * 3
        broken = False
        assert await inbox.put(Incoming("later"))
        await processed(store, "later")
    assert actor.ids == ["later"]


async def test_closing_waits_for_what_is_being_stored(store):
    inbox = Inbox(store, Actor())
    putting = asyncio.create_task(inbox.put(Incoming("one")))
    await asyncio.sleep(0)
    await inbox.close()
    assert await putting
    assert "one" in rows(store)


async def test_only_old_and_processed_deliveries_are_forgotten(store):
    for name in ("old", "new", "waiting"):
        await store.run(lambda db, name=name: put_now(db, Incoming(name)))

    def age(db):
        db.execute(sa.update(delivery).where(delivery.c.id != "new").values(received_at=100.0))
        db.execute(sa.update(delivery).where(delivery.c.id != "waiting").values(processed_at=200.0))

    await store.run(age)
    assert await store.run(lambda db: prune(db, 150.0)) == 1
    assert rows(store).keys() == {"new", "waiting"}
