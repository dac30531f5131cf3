"""Stored state becomes one comment on GitHub, however often and by however many it is told."""

import asyncio

import pytest

from bot import report
from bot.comments import preview_comment
from bot.decisions import Decisions
from bot.errors import GitHubUnavailable, OperatorFault
from bot.preview import Failure, Phase
from bot.previews import Previews, changed
from bot.report import Reporter
from tests.forge_driver import until
from tests.words.nouns import OTHER_SHA, SHA


@pytest.fixture(autouse=True)
def _impatient(monkeypatch):
    monkeypatch.setattr(report, "PACE_SECONDS", 0.05)


@pytest.fixture
def previews(store) -> Previews:
    return Previews(store)


@pytest.fixture
async def pull(shop) -> int:
    await shop.driver.push({"a": "1"}, branch="change")
    return await shop.driver.open_pull("change")


@pytest.fixture
async def preview_id(previews, store, shop, pull) -> int:
    """A preview with something to tell."""
    preview = await previews.ensure(shop.known, pull)
    await Decisions(store).launch(preview, SHA, requested_at=1.0)
    return preview.id


@pytest.fixture
async def reporter(previews, github, redactor):
    reporter = Reporter(previews, github, redactor)
    yield reporter
    await reporter.close()


@pytest.fixture
def comments(shop, pull):
    """What stands on the pull request."""

    async def read() -> list[str]:
        return [comment["body"] for comment in await shop.driver.comments(pull)]

    return read


async def shown(previews, preview_id) -> None:
    async def told() -> bool:
        preview = await previews.get(preview_id)
        return preview.version == preview.reported_version

    await until(told, what="GitHub to show the stored state")


async def test_what_is_stored_is_what_github_shows(reporter, previews, preview_id, comments):
    await reporter.tell(preview_id)
    preview = await previews.get(preview_id)
    assert await comments() == [preview_comment(preview)]
    assert preview.reported_version == preview.version
    assert preview.comment_id


async def test_what_is_shown_already_is_not_told_again(reporter, preview_id, forge):
    await reporter.tell(preview_id)
    await forge.fault("server_error", times=9)
    await reporter.tell(preview_id)


async def test_a_preview_that_was_never_launched_says_nothing(reporter, previews, store, shop, pull, comments):
    preview = await previews.ensure(shop.known, pull)
    await store.run(lambda db: changed(db, preview.id))
    await reporter.tell(preview.id)
    assert await comments() == []


async def test_many_changes_become_few_edits_of_one_comment(
    reporter, previews, preview_id, comments, github, monkeypatch
):
    edits = []
    edit = github.edit_comment
    monkeypatch.setattr(github, "edit_comment", lambda *words: edits.append(words) or edit(*words))
    await reporter.tell(preview_id)
    for number in range(30):
        await previews.note(preview_id, 1, f"Note {number}.")
        reporter.touch(preview_id)
    await shown(previews, preview_id)
    assert len(await comments()) == 1
    assert 1 <= len(edits) <= 10


async def test_told_by_many_at_once_there_is_one_comment(reporter, preview_id, comments):
    await asyncio.gather(*(reporter.tell(preview_id) for _ in range(8)))
    assert len(await comments()) == 1


async def test_two_processes_write_one_comment_for_the_first_time(
    reporter, previews, preview_id, comments, as_app, shop, redactor
):
    other = Reporter(previews, as_app(shop.app), redactor)
    reporter.touch(preview_id)
    other.touch(preview_id)
    await shown(previews, preview_id)
    await other.close()
    assert len(await comments()) == 1


async def test_a_comment_that_somebody_deleted_is_written_anew(reporter, previews, preview_id, comments, shop):
    await reporter.tell(preview_id)
    await shop.driver.rest("DELETE", f"/issues/comments/{(await previews.get(preview_id)).comment_id}")
    await previews.note(preview_id, 1, "More.")
    await reporter.tell(preview_id)
    assert len(await comments()) == 1


async def test_a_comment_whose_answer_was_lost_is_found_again_at_once(reporter, previews, preview_id, comments, forge):
    await forge.fault("lost_answer", method="POST", path="/comments$")
    with pytest.raises(GitHubUnavailable):
        await reporter.tell(preview_id)
    await previews.note(preview_id, 1, "More.")
    await reporter.tell(preview_id)
    assert await comments() == [preview_comment(await previews.get(preview_id))]


async def test_trouble_is_tried_again_until_it_is_told(reporter, previews, preview_id, comments, forge):
    await forge.fault("server_error", method="POST", path="/comments$", times=2)
    reporter.touch(preview_id)
    await shown(previews, preview_id)
    assert len(await comments()) == 1


async def test_what_the_operator_must_mend_is_raised_and_stays_untold(previews, preview_id, as_app, redactor):
    wrong = Reporter(previews, as_app(None, GITHUB_TOKEN="ghp_wrong"), redactor)
    with pytest.raises(OperatorFault):
        await wrong.tell(preview_id)
    wrong.touch(preview_id)
    await until(lambda: asyncio.sleep(0, not wrong._following), what="the reporter to give up")
    assert len(await previews.all(unreported=True)) == 1


async def test_a_pull_request_that_is_gone_is_told_nothing_more(reporter, previews, store, shop):
    preview = await previews.ensure(shop.known, 999)
    await Decisions(store).launch(preview, SHA, requested_at=1.0)
    await reporter.tell(preview.id)
    assert await previews.all(unreported=True) == []


async def test_secrets_are_masked_wherever_they_came_from(reporter, previews, preview_id, comments, redactor):
    redactor.add("hunter2-secret")
    await previews.fail(preview_id, 1, Failure(Phase.QUEUED, "It said `hunter2-secret`.", log="hunter\x1b[0m2-secret"))
    await reporter.tell(preview_id)
    (body,) = await comments()
    assert "hunter2" not in body
    assert body.count("•••") == 2


async def test_a_late_report_of_an_older_launch_shows_the_newer_one(reporter, previews, store, preview_id, comments):
    await reporter.tell(preview_id)
    await Decisions(store).launch(await previews.get(preview_id), OTHER_SHA, requested_at=2.0)
    await reporter.tell(preview_id)
    (body,) = await comments()
    assert OTHER_SHA in body
    assert SHA not in body
