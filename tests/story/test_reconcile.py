"""The sweep repairs what lost deliveries and crashes broke, and deletes only on positive evidence."""

import dataclasses
from types import SimpleNamespace

import pytest
import sqlalchemy as sa

from bot import reconcile
from bot.decisions import Decisions
from bot.errors import SandboxUnavailable
from bot.inbox import put_now
from bot.preview import Box, Failure, Phase, StopReason
from bot.previews import Previews
from bot.reconcile import Sweeper
from bot.sandbox import Commit
from bot.store import StoreUnavailable
from bot.tables import delivery
from tests.words.nouns import REPOSITORY

pytestmark = pytest.mark.bwrap


class Workflows:
    """Notes what the sweep begins. `busy` and `over` say how DBOS stands to the preview's newest decision."""

    def __init__(self) -> None:
        self.begun: list[tuple[str, int]] = []
        self.busy = self.over = False

    async def under_way(self, preview) -> bool:
        return self.busy

    async def is_over(self, preview) -> bool:
        return self.over

    async def begin_launch(self, preview, generation) -> None:
        self.begun.append(("launch", generation))

    async def begin_teardown(self, preview, generation) -> None:
        self.begun.append(("teardown", generation))


@pytest.fixture
def workflows(monkeypatch) -> Workflows:
    noting = Workflows()
    monkeypatch.setattr(reconcile, "workflow", noting)
    return noting


class World:
    """The owners that the sweep uses, and what it asked of the two that are not here."""

    def __init__(self, store, sandboxes) -> None:
        self.previews, self.decisions = Previews(store), Decisions(store)
        self.store, self.sandboxes = store, sandboxes
        self.touched: list[int] = []
        self.stopped: list[tuple[StopReason, bool]] = []
        self.looked_at: list[int] = []
        self.reporter = SimpleNamespace(touch=self.touched.append)

    async def stop(self, preview, reason, *, hold) -> None:
        self.stopped.append((reason, hold))

    async def look(self, repo_id, number, installation_id, seen_at) -> None:
        self.looked_at.append(number)

    async def sweep(self) -> None:
        await Sweeper(self, self).sweep()


@pytest.fixture
def world(store, sandboxes, workflows) -> World:
    return World(store, sandboxes)


@pytest.fixture
async def commit(shop) -> Commit:
    return Commit(shop.driver.clone_url, await shop.driver.push({"a": "1"}), ("x", shop.owner.token))


@pytest.fixture
async def launched(world, commit, name):
    """A preview with a launch and a sandbox that stands for it."""
    repository = dataclasses.replace(REPOSITORY, id=int(name[-6:], 16))
    preview = await world.previews.ensure(repository, 3)
    await world.decisions.launch(preview, commit.sha, requested_at=1.0)
    await world.sandboxes.create(preview.sandbox_name, commit, 3000)
    await world.previews.set_box(preview.id, 1, Box(commit.sha))
    return await world.previews.get(preview.id)


async def make_ready(world, preview) -> None:
    for phase in (Phase.FETCHING, Phase.DETECTING, Phase.STARTING, Phase.READY):
        await world.previews.enter(preview.id, 1, phase)


async def test_a_sandbox_that_nobody_knows_is_removed(world, commit, name):
    await world.sandboxes.create(name, commit, 3000)
    await world.sweep()
    assert await world.sandboxes.names() == []


async def test_a_preview_that_runs_is_left_alone(world, launched, workflows):
    await make_ready(world, launched)
    await world.sweep()
    assert await world.sandboxes.names() == [launched.sandbox_name]
    assert (workflows.begun, world.stopped) == ([], [])


async def test_what_dbos_works_on_is_left_to_it(world, launched, workflows):
    workflows.busy = True
    await world.sweep()
    assert (workflows.begun, await world.sandboxes.names()) == ([], [launched.sandbox_name])


async def test_a_preview_whose_sandbox_ended_is_told_to_have_expired(world, launched):
    await make_ready(world, launched)
    await world.sandboxes.destroy(launched.sandbox_name)
    await world.sweep()
    assert world.stopped == [(StopReason.EXPIRED, False)]


async def test_a_launch_that_was_decided_and_never_begun_is_begun(world, launched, workflows):
    await world.sweep()
    assert workflows.begun == [("launch", 1)]


async def test_a_launch_whose_workflow_died_is_decided_once_more(world, launched, workflows):
    workflows.over = True
    await world.sweep()
    assert workflows.begun == [("launch", 2)]
    assert (await world.previews.get(launched.id)).launch.phase is Phase.QUEUED


async def test_a_teardown_that_was_decided_and_never_begun_is_begun(world, launched, workflows):
    await world.decisions.stop(launched, StopReason.CLOSED)
    await world.sweep()
    assert (workflows.begun, world.stopped) == ([("teardown", 2)], [])


async def test_a_teardown_whose_workflow_died_is_decided_once_more(world, launched, workflows):
    await world.decisions.stop(launched, StopReason.COMMAND, hold=True)
    workflows.over = True
    await world.sweep()
    assert (workflows.begun, world.stopped) == ([], [(StopReason.COMMAND, True)])


async def test_the_sandbox_of_a_failed_launch_is_removed(world, launched):
    await world.previews.fail(launched.id, 1, Failure(Phase.QUEUED, "It broke."))
    await world.sweep()
    assert await world.sandboxes.names() == []
    assert (await world.previews.get(launched.id)).box is None


async def test_nothing_of_a_fork_runs_while_it_waits(world, launched, commit, workflows):
    await world.decisions.await_approval(launched, commit.sha, requested_at=2.0)
    await world.sweep()
    assert (await world.sandboxes.names(), workflows.begun) == ([], [])


async def test_pull_requests_with_a_preview_are_looked_at_at_the_start_and_then_seldom(world, launched, monkeypatch):
    sweeper = Sweeper(world, world)
    await sweeper.sweep()
    await sweeper.sweep()
    assert world.looked_at == [3]
    monkeypatch.setattr(reconcile, "CATCH_UP_SECONDS", 0)
    await sweeper.sweep()
    assert world.looked_at == [3, 3]


async def test_a_pull_request_whose_preview_nobody_wants_is_not_looked_at(world, launched):
    await world.decisions.stop(launched, StopReason.COMMAND, hold=True)
    await world.sweep()
    assert world.looked_at == []


async def test_what_was_not_told_is_told(world, launched):
    await world.sweep()
    assert world.touched == [launched.id]


@pytest.mark.parametrize("unreadable", ["sandboxes", "previews"])
async def test_while_a_part_of_the_picture_cannot_be_read_nothing_is_deleted(
    world, commit, name, monkeypatch, unreadable
):
    await world.sandboxes.create(name, commit, 3000)
    names = world.sandboxes.names

    async def fail(**_: object) -> list:
        raise StoreUnavailable("no") if unreadable == "previews" else SandboxUnavailable("no")

    monkeypatch.setattr(*((world.previews, "all") if unreadable == "previews" else (world.sandboxes, "names")), fail)
    with pytest.raises((StoreUnavailable, SandboxUnavailable)):
        await world.sweep()
    assert await names() == [name]
    monkeypatch.undo()


async def test_old_deliveries_are_forgotten(world, store):
    @dataclasses.dataclass
    class Incoming:
        id: str
        event: str = "push"
        body: bytes = b""

    await store.run(lambda db: put_now(db, Incoming("old")))
    await store.run(lambda db: db.execute(sa.update(delivery).values(received_at=1.0, processed_at=2.0)))
    await world.sweep()
    assert await store.run(lambda db: db.execute(sa.select(sa.func.count()).select_from(delivery)).scalar()) == 0
