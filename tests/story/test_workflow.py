"""What a step makes of the work in it, and what is left behind: the workflow's pieces, without DBOS around them."""

import asyncio
from types import SimpleNamespace

import pytest
from dbos import error as dbos_error

from bot import workflow
from bot.decisions import Decisions
from bot.errors import CommandFailed, GitHubUnavailable, OperatorFault, SandboxUnavailable, Superseded
from bot.preview import Box, Phase, StopReason
from bot.previews import Previews
from bot.runs import Runs
from tests.words.nouns import OTHER_SHA, REPOSITORY, SHA


class Sandboxes:
    """Notes what is destroyed."""

    def __init__(self) -> None:
        self.destroyed: list[str] = []

    async def destroy(self, name: str) -> None:
        self.destroyed.append(name)


class Reporter:
    """Notes what is to be told; telling fails while `trouble` is set."""

    def __init__(self) -> None:
        self.touched: list[int] = []
        self.trouble: Exception | None = None

    def touch(self, preview_id: int) -> None:
        self.touched.append(preview_id)

    async def tell(self, preview_id: int) -> None:
        if self.trouble:
            raise self.trouble


@pytest.fixture
def world(store, monkeypatch) -> SimpleNamespace:
    owners = SimpleNamespace(
        previews=Previews(store), decisions=Decisions(store), runs=Runs(), sandboxes=Sandboxes(), reporter=Reporter()
    )
    monkeypatch.setattr(workflow, "_context", owners)
    return owners


@pytest.fixture
async def preview(world):
    made = await world.previews.ensure(REPOSITORY, 3)
    await world.decisions.launch(made, SHA, requested_at=1.0)
    return await world.previews.get(made.id)


def step(work, limit: float = 60):
    """A phase that does this work."""
    return workflow._step(work, lambda: limit)


async def failing(error: Exception):
    raise error


async def test_a_step_that_did_its_work_lets_the_next_follow(preview):
    async def work(run):
        await run.enter(Phase.FETCHING)

    assert await step(work)(preview.id, 1) == ""


async def test_the_repository_s_fault_ends_the_launch_with_its_phase_and_the_end_of_the_log(world, preview):
    async def work(run):
        await run.enter(Phase.FETCHING)
        log = "\n".join(f"\x1b[31mline {number}" for number in range(100))
        raise CommandFailed("It exited with code 1.", exit_code=1, remedy="Mend it.", log=log)

    assert await step(work)(preview.id, 1) == "failed"
    failure = (await world.previews.get(preview.id)).launch.failure
    assert (failure.phase, failure.cause, failure.remedy) == (Phase.FETCHING, "It exited with code 1.", "Mend it.")
    assert failure.log.startswith("… (60 lines before)\nline 60\n")
    assert world.reporter.touched[-1] == preview.id


async def test_the_repository_s_fault_is_not_told_of_a_launch_that_was_overtaken(world, preview):
    async def work(run):
        await world.decisions.launch(preview, OTHER_SHA, requested_at=2.0)
        raise CommandFailed("It exited with code 137.", exit_code=137)

    assert await step(work)(preview.id, 1) == "superseded"
    assert (await world.previews.get(preview.id)).launch.failure is None


async def test_the_world_s_fault_is_left_to_the_retries(world, preview):
    with pytest.raises(SandboxUnavailable):
        await step(lambda run: failing(SandboxUnavailable("gone")))(preview.id, 1)
    assert (await world.previews.get(preview.id)).launch.phase is Phase.QUEUED


async def test_a_newer_decision_cuts_a_step_short(world, preview):
    under_way = asyncio.create_task(step(lambda run: asyncio.Event().wait())(preview.id, 1))
    while not world.runs._active:
        await asyncio.sleep(0)
    world.runs.overtake(preview.id, 2)
    assert await under_way == "superseded"


async def test_a_step_that_takes_too_long_is_a_failure_that_says_so(world, preview):
    assert await step(lambda run: asyncio.Event().wait(), limit=0.05)(preview.id, 1) == "failed"
    assert (await world.previews.get(preview.id)).launch.failure.cause == "It took more than 0 s."


async def test_somebody_else_s_time_out_is_not_taken_for_ours(preview):
    with pytest.raises(TimeoutError, match="of the network's"):
        await step(lambda run: failing(TimeoutError("of the network's")))(preview.id, 1)


async def test_the_sandbox_of_a_failed_launch_is_removed(world, preview):
    await world.previews.set_box(preview.id, 1, Box(SHA))
    await workflow.settle(preview.id, 1, "failed")
    assert world.sandboxes.destroyed == [preview.sandbox_name]
    assert (await world.previews.get(preview.id)).box is None


@pytest.mark.parametrize("outcome", ["ready", "superseded"])
async def test_the_sandbox_of_a_wanted_launch_stays(world, preview, outcome):
    await workflow.settle(preview.id, 1, outcome)
    assert world.sandboxes.destroyed == []


async def test_an_older_failure_does_not_remove_the_newer_launch_s_sandbox(world, preview):
    await world.decisions.launch(preview, OTHER_SHA, requested_at=2.0)
    await workflow.settle(preview.id, 1, "failed")
    assert world.sandboxes.destroyed == []


async def test_a_sandbox_made_while_the_pull_request_was_closed_is_removed(world, preview):
    await world.decisions.stop(preview, StopReason.CLOSED)
    await workflow.settle(preview.id, 1, "superseded")
    assert world.sandboxes.destroyed == [preview.sandbox_name]


async def test_a_teardown_destroys_unless_a_newer_decision_wants_the_preview(world, preview):
    await world.decisions.stop(preview, StopReason.CLOSED)
    await world.decisions.launch(preview, OTHER_SHA, requested_at=2.0)
    await workflow.destroy(preview.id, 2)
    assert world.sandboxes.destroyed == []
    await world.decisions.stop(preview, StopReason.CLOSED)
    await workflow.destroy(preview.id, 4)
    assert world.sandboxes.destroyed == [preview.sandbox_name]
    assert (await world.previews.get(preview.id)).launch.phase is Phase.STOPPED


async def test_a_report_that_fails_is_left_to_the_reporter(world, preview):
    world.reporter.trouble = GitHubUnavailable("limited")
    await workflow.tell(preview.id)
    assert world.reporter.touched == [preview.id]


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (OperatorFault("GITHUB_TOKEN is wrong"), "The bot is not configured right"),
        (SandboxUnavailable("http://10.0.0.7 refuses"), "A service that the bot depends on did not answer"),
        (KeyError("internals"), "An error of the bot's own"),
        (
            dbos_error.DBOSMaxStepRetriesExceeded("fetch", 5, [GitHubUnavailable("secret detail")]),
            "A service that the bot depends on did not answer",
        ),
    ],
)
def test_what_is_not_the_repository_s_fault_is_told_without_details(error, said):
    reason = workflow._reason(error)
    assert reason.startswith(said)
    assert not any(detail in reason for detail in ("GITHUB_TOKEN", "10.0.0.7", "internals", "secret detail"))


async def test_giving_up_after_the_launch_was_overtaken_changes_nothing(world, preview):
    await world.decisions.launch(preview, OTHER_SHA, requested_at=2.0)
    assert await workflow.give_up(preview.id, 1, "It broke.") == "superseded"
    with pytest.raises(Superseded):
        await world.previews.check_current(preview.id, 1)
