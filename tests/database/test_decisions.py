"""What is wanted, and which run may still write: one generation per decision, whoever decides at the same time."""

import asyncio

import pytest

from bot.decisions import Decisions
from bot.errors import Superseded
from bot.preview import Box, Failure, Phase, StopReason
from bot.previews import Previews
from tests.words.nouns import OTHER_SHA, REPOSITORY, SHA


@pytest.fixture
def previews(store) -> Previews:
    return Previews(store)


@pytest.fixture
def decisions(store) -> Decisions:
    return Decisions(store)


@pytest.fixture
async def preview(previews):
    return await previews.ensure(REPOSITORY, 3)


async def test_a_launch_is_wanted_and_queued(previews, decisions, preview):
    assert await decisions.launch(preview, SHA, requested_at=10.0) == 1
    now = await previews.get(preview.id)
    assert (now.generation, now.wanted, now.version, now.reported_version) == (1, True, 1, 0)
    assert (now.launch.sha, now.launch.phase, now.launch.requested_at) == (SHA, Phase.QUEUED, 10.0)


async def test_the_same_launch_decided_again_changes_nothing(previews, decisions, preview):
    await decisions.launch(preview, SHA, requested_at=10.0)
    before = await previews.get(preview.id)
    assert await decisions.launch(preview, SHA, requested_at=20.0) == 1
    assert await previews.get(preview.id) == before


async def test_a_failed_launch_is_repeated_only_when_asked_again(previews, decisions, preview):
    await decisions.launch(preview, SHA, requested_at=10.0)
    await previews.fail(preview.id, 1, Failure(Phase.QUEUED, "It broke."))
    assert await decisions.launch(preview, SHA, requested_at=20.0) == 1
    assert await decisions.launch(preview, SHA, requested_at=20.0, again=True) == 2


async def test_a_newer_commit_supersedes_and_the_older_run_may_write_no_more(previews, decisions, preview):
    await decisions.launch(preview, SHA, requested_at=10.0)
    await previews.enter(preview.id, 1, Phase.FETCHING)
    assert await decisions.launch(preview, OTHER_SHA, requested_at=20.0) == 2
    for write in (
        previews.enter(preview.id, 1, Phase.DETECTING),
        previews.fail(preview.id, 1, Failure(Phase.FETCHING, "No.")),
        previews.note(preview.id, 1, "No."),
        previews.set_box(preview.id, 1, Box(SHA)),
        previews.check_current(preview.id, 1),
    ):
        with pytest.raises(Superseded):
            await write
    now = await previews.get(preview.id)
    assert (now.launch.sha, now.launch.phase, now.box) == (OTHER_SHA, Phase.QUEUED, None)


async def test_going_back_to_an_older_commit_is_a_launch_of_its_own(decisions, preview):
    shas = (SHA, OTHER_SHA, SHA)
    assert [await decisions.launch(preview, sha, requested_at=10.0) for sha in shas] == [1, 2, 3]


async def test_the_same_decision_at_the_same_time_is_made_once(previews, decisions, preview):
    made = await asyncio.gather(*(decisions.launch(preview, SHA, requested_at=10.0) for _ in range(12)))
    assert set(made) == {1}
    assert (await previews.get(preview.id)).generation == 1


async def test_different_decisions_at_the_same_time_follow_one_another(previews, decisions, preview, open_store):
    other = Decisions(open_store())
    choices = [(who, f"{number:040x}") for number, who in enumerate([decisions, other] * 6)]
    made = await asyncio.gather(*(who.launch(preview, sha, requested_at=1.0) for who, sha in choices))
    assert sorted(made) == list(range(1, 13))
    now = await previews.get(preview.id)
    assert (now.generation, now.launch.sha) == (12, choices[made.index(12)][1])


async def test_stopping_holds_until_a_launch_is_asked_for(previews, decisions, preview):
    await decisions.launch(preview, SHA, requested_at=1.0)
    assert await decisions.stop(preview, StopReason.COMMAND, hold=True)
    now = await previews.get(preview.id)
    assert (now.generation, now.wanted, now.held, now.launch.phase) == (2, False, True, Phase.QUEUED)
    with pytest.raises(Superseded):
        await previews.enter(preview.id, 1, Phase.FETCHING)
    await decisions.stopped(now, 2)
    assert (await previews.get(preview.id)).launch.phase is Phase.STOPPED
    assert not await decisions.stop(preview, StopReason.COMMAND, hold=True)
    assert await decisions.launch(preview, SHA, requested_at=2.0) == 3
    assert not (await previews.get(preview.id)).held


async def test_a_preview_that_ended_by_itself_can_still_be_held(previews, decisions, preview):
    await decisions.launch(preview, SHA, requested_at=1.0)
    await decisions.stop(preview, StopReason.EXPIRED)
    await decisions.stopped(preview, 2)
    assert await decisions.stop(preview, StopReason.COMMAND, hold=True)
    now = await previews.get(preview.id)
    assert (now.held, now.stop_reason) == (True, StopReason.COMMAND)


async def test_closing_does_not_let_go_of_what_a_person_holds(previews, decisions, preview):
    await decisions.launch(preview, SHA, requested_at=1.0)
    await decisions.stop(preview, StopReason.COMMAND, hold=True)
    await decisions.stopped(preview, 2)
    assert not await decisions.stop(preview, StopReason.CLOSED)
    assert (await previews.get(preview.id)).held


async def test_a_teardown_that_was_overtaken_ends_nothing(previews, decisions, preview):
    await decisions.launch(preview, SHA, requested_at=1.0)
    await decisions.stop(preview, StopReason.CLOSED)
    await decisions.launch(preview, SHA, requested_at=2.0)
    await decisions.stopped(preview, 2)
    now = await previews.get(preview.id)
    assert (now.generation, now.launch.phase, now.wanted) == (3, Phase.QUEUED, True)


async def test_waiting_for_approval_is_shown_once_and_survives_its_own_teardown(previews, decisions, preview):
    assert await decisions.await_approval(preview, SHA, requested_at=1.0)
    assert not await decisions.await_approval(preview, SHA, requested_at=2.0)
    await decisions.stopped(preview, 1)
    now = await previews.get(preview.id)
    assert (now.launch.phase, now.wanted) == (Phase.AWAITING_APPROVAL, False)


async def test_closing_ends_what_waits_for_approval_and_reopening_shows_it_again(previews, decisions, preview):
    await decisions.await_approval(preview, SHA, requested_at=1.0)
    assert await decisions.stop(preview, StopReason.CLOSED)
    await decisions.stopped(preview, 2)
    assert (await previews.get(preview.id)).launch.phase is Phase.STOPPED
    assert await decisions.await_approval(preview, SHA, requested_at=2.0)
    now = await previews.get(preview.id)
    assert (now.launch.phase, now.stop_reason) == (Phase.AWAITING_APPROVAL, None)


async def test_an_approval_is_remembered_with_its_commit_and_lost_when_stopped(previews, decisions, preview):
    await decisions.await_approval(preview, SHA, requested_at=1.0)
    assert await decisions.launch(preview, SHA, requested_at=2.0, approved=True) == 2
    assert (await previews.get(preview.id)).approved_sha == SHA
    await decisions.stop(preview, StopReason.CLOSED)
    assert (await previews.get(preview.id)).approved_sha is None


async def test_a_box_is_forgotten_only_by_the_newest_decision(previews, decisions, preview):
    await decisions.launch(preview, SHA, requested_at=1.0)
    await previews.set_box(preview.id, 1, Box(SHA, url="http://x"))
    await decisions.forget_box(preview, 0)
    assert (await previews.get(preview.id)).box == Box(SHA, url="http://x")
    await decisions.forget_box(preview, 1)
    assert (await previews.get(preview.id)).box is None
