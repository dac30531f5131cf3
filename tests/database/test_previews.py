"""Previews as they are stored and read again."""

import asyncio
import dataclasses

import pytest

from bot import previews as previews_module
from bot.decisions import Decisions
from bot.errors import Superseded
from bot.preview import Box, Failure, Phase, RepoName
from bot.previews import Previews
from tests.words.nouns import PLAN, REPOSITORY, SHA


@pytest.fixture
def previews(store) -> Previews:
    return Previews(store)


@pytest.fixture
async def launched(previews, store):
    """A preview with a launch, generation 1."""
    preview = await previews.ensure(REPOSITORY, 3)
    await Decisions(store).launch(preview, SHA, requested_at=1.0)
    return preview.id


async def test_a_pull_request_has_one_preview_however_often_it_is_made(previews):
    made = await asyncio.gather(*(previews.ensure(REPOSITORY, 3) for _ in range(8)))
    assert len({preview.id for preview in made}) == 1
    assert made[0] == await previews.find(REPOSITORY.id, 3)
    assert made[0].sandbox_name == "preview-7-3"


async def test_a_rename_is_followed_and_keeps_the_preview(previews):
    before = await previews.ensure(REPOSITORY, 3)
    renamed = dataclasses.replace(REPOSITORY, name=RepoName("ada/store"), installation_id=9, private=False)
    after = await previews.ensure(renamed, 3)
    assert (after.id, after.repository) == (before.id, renamed)
    assert await previews.find_by_name("ada/shop", 3) is None
    assert await previews.find_by_name("Ada/Store", 3) == after


async def test_what_is_not_there_is_none_or_an_error(previews):
    assert await previews.find(REPOSITORY.id, 99) is None
    assert await previews.all() == []
    with pytest.raises(LookupError):
        await previews.get(99)


async def test_a_launch_is_read_as_it_was_written(previews, launched):
    for phase in (Phase.FETCHING, Phase.DETECTING, Phase.STARTING):
        await previews.enter(launched, 1, phase)
    await previews.enter(launched, 1, Phase.STARTING, plan=PLAN.model_dump(mode="json"), in_place=True)
    await previews.note(launched, 1, "Say this.")
    await previews.note(launched, 1, "Say this.")
    await previews.set_box(launched, 1, Box(SHA, "i", "s", "p-1", "http://x"))
    await previews.enter(launched, 1, Phase.READY, url="http://x", ready_at=5.0)
    preview = await previews.get(launched)
    launch = preview.launch
    assert (launch.phase, launch.url, launch.seconds_to_ready, launch.in_place) == (Phase.READY, "http://x", 4.0, True)
    assert launch.notes == ("Say this.",)
    assert launch.plan == PLAN.model_dump(mode="json")
    assert launch.timings.keys() == {Phase.QUEUED, Phase.FETCHING, Phase.DETECTING, Phase.STARTING}
    assert preview.box == Box(SHA, "i", "s", "p-1", "http://x")


async def test_a_failure_is_read_as_it_was_written(previews, launched):
    failure = Failure(Phase.QUEUED, "It broke.", "Mend it.", "log\nlog")
    await previews.fail(launched, 1, failure)
    launch = (await previews.get(launched)).launch
    assert (launch.phase, launch.failure) == (Phase.FAILED, failure)
    with pytest.raises(Superseded):
        await previews.enter(launched, 1, Phase.FETCHING)


async def test_a_repeated_step_does_not_move_a_launch_back(previews, launched):
    for phase in (Phase.FETCHING, Phase.DETECTING, Phase.BUILDING, Phase.STARTING, Phase.BUILDING, Phase.STARTING):
        await previews.enter(launched, 1, phase)
    assert (await previews.get(launched)).launch.phase is Phase.STARTING


async def test_a_phase_that_cannot_follow_is_refused(previews, launched):
    with pytest.raises(Superseded, match="cannot go from queued to ready"):
        await previews.enter(launched, 1, Phase.READY)


async def test_every_change_is_unreported_until_it_was_told(previews, launched):
    await previews.enter(launched, 1, Phase.FETCHING)
    (unreported,) = await previews.all(unreported=True)
    assert (unreported.version, unreported.reported_version) == (2, 0)
    await previews.reported(launched, 2)
    assert await previews.all(unreported=True) == []
    await previews.reported(launched, 1)  # an older telling that comes late
    assert (await previews.get(launched)).reported_version == 2


async def test_one_of_many_may_write_the_comment_for_the_first_time(previews, launched, open_store):
    others = [previews, Previews(open_store())] * 4
    claims = await asyncio.gather(*(each.claim_comment(launched) for each in others))
    assert claims.count(True) == 1
    await previews.set_comment(launched, 55)
    assert (await previews.get(launched)).comment_id == 55
    assert await previews.claim_comment(launched)


async def test_a_claim_on_the_comment_lapses(previews, launched, monkeypatch):
    assert await previews.claim_comment(launched)
    assert not await previews.claim_comment(launched)
    monkeypatch.setattr(previews_module, "COMMENT_CLAIM_SECONDS", -1.0)
    assert await previews.claim_comment(launched)
