"""`preview list`, `logs` and `down`: what the operator sees of the bot's database, and does to it."""

import asyncio
import json

import pytest

from bot import operator
from bot.decisions import Decisions
from bot.preview import Box, CommitSha, Failure, Phase, StopReason
from bot.previews import Previews
from bot.settings import Settings
from bot.store import Store
from bot.tables import delivery
from tests.words.nouns import REPOSITORY, SHA


@pytest.fixture
def store(data):
    store = Store(Settings.read().database)
    store.migrate()
    yield store
    store.close()


@pytest.fixture
def ready(store) -> int:
    """`ada/shop#3` is ready at a URL; its id."""

    async def make() -> int:
        previews = Previews(store)
        preview = await previews.ensure(REPOSITORY, 3)
        await Decisions(store).launch(preview, SHA, requested_at=100.0)
        for phase in (Phase.FETCHING, Phase.DETECTING, Phase.STARTING):
            await previews.enter(preview.id, 1, phase)
        await previews.set_box(preview.id, 1, Box(CommitSha(SHA), server="cmd_1"))
        await previews.enter(preview.id, 1, Phase.READY, url="http://127.0.0.1:4000", ready_at=112.5)
        return preview.id

    return asyncio.run(make())


@pytest.fixture
def failed(store) -> int:
    """`ada/shop#4` failed; its id."""

    async def make() -> int:
        previews = Previews(store)
        preview = await previews.ensure(REPOSITORY, 4)
        await Decisions(store).launch(preview, SHA, requested_at=100.0)
        await previews.fail(preview.id, 1, Failure(Phase.QUEUED, "It broke.", log="npm ERR! broken"))
        return preview.id

    return asyncio.run(make())


def test_an_empty_list_says_how_to_fill_it(preview):
    done = preview("list")
    assert (done.code, done.out) == (0, "No previews yet: open a pull request, or comment /preview on one.\n")
    assert json.loads(preview("list", "--json").out) == []


def test_the_list_for_a_program(preview, ready, failed):
    assert json.loads(preview("list", "--json").out) == [
        {
            "pull": "ada/shop#3",
            "state": "ready",
            "sha": SHA,
            "url": "http://127.0.0.1:4000",
            "seconds_to_ready": 12.5,
        },
        {"pull": "ada/shop#4", "state": "failed", "sha": SHA, "url": None, "seconds_to_ready": None},
    ]


def test_the_list_for_a_person(preview, ready, failed):
    lines = [line.split() for line in preview("list").out.splitlines()]
    assert lines[1:] == [
        ["ada/shop#3", "ready", "aaaaaaa", "http://127.0.0.1:4000"],
        ["ada/shop#4", "failed", "aaaaaaa"],
    ]


def test_the_log_of_a_failure_is_shown(preview, failed):
    assert preview("logs", "ADA/shop#4").out == "npm ERR! broken\n"


def test_the_log_of_a_sandbox_that_cannot_be_reached_is_worth_another_try(preview, ready):
    done = preview("logs", "ada/shop#3")
    assert (done.code, done.out) == (75, "")
    assert done.err.startswith("preview: ")


def test_a_preview_that_does_not_exist_is_told_with_the_way_to_find_it(preview, store):
    done = preview("logs", "ada/shop#99")
    assert done.code == 1
    assert "there is no preview of ada/shop#99" in done.err
    assert "`preview list` shows all" in done.err


def test_down_is_stored_when_no_bot_runs_and_that_is_said(preview, ready, store, monkeypatch):
    monkeypatch.setattr(operator, "DOWN_LIMIT_SECONDS", 0.1)
    done = preview("down", "ada/shop#3")
    assert done.code == 75
    assert "the order is stored, but no running bot took it" in done.err
    rows = store.run_now(lambda db: db.execute(delivery.select()).mappings().all())
    assert [(row["event"], json.loads(row["body"])) for row in rows] == [("operator", {"preview_id": ready})]


def test_what_is_down_already_is_said_to_be_down(preview, ready, store):
    async def stop() -> None:
        decisions, known = Decisions(store), await Previews(store).get(ready)
        await decisions.stop(known, StopReason.OPERATOR, hold=True)
        await decisions.stopped(known, 2)

    asyncio.run(stop())
    done = preview("down", "ada/shop#3")
    assert (done.code, done.out) == (0, "ada/shop#3 is down\n")
    assert json.loads(preview("list", "--json").out)[0]["state"] == "stopped"
