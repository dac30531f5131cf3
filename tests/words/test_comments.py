"""Everything the comment can say, compared whole."""

import dataclasses

import pytest

from bot.comments import marker, preview_comment, refusal, refusal_marker
from bot.preview import Box, Failure, Phase, StopReason
from tests.words.nouns import OTHER_SHA, PLAN, SHA, URL, launch, preview

MARKER = "<!-- branch-preview 7#3 -->\n"
TABLE = "| | |\n| --- | --- |\n"
DETECTED = "| Detected | Vite 8 with npm, started with npm run dev |\n"
PLANNED = {"plan": PLAN.model_dump(mode="json")}


def said(**changes):
    return preview_comment(preview(**changes))


def test_ready():
    timings = {"fetching": 1.04, "installing": 12.31, "starting": 2.0, "detecting": 0.2}
    ready = launch(Phase.READY, url=URL, ready_at=1017.25, timings=timings, **PLANNED)
    assert said(launch=ready) == (
        f"{MARKER}### 🟢 [Open the preview]({URL})\n\n{TABLE}"
        f"| Preview | <{URL}> |\n"
        f"| Commit | {SHA} |\n"
        "| Ready | 17.2 s after the push (fetch 1.0 s · install 12.3 s · start 2.0 s) |\n"
        f"{DETECTED}\n"
        "<sub>Every push updates it. `/preview stop` takes it down.</sub>\n"
    )


def test_updated_in_place_in_a_folder_with_a_note():
    plan = PLAN.model_copy(update={"root": "apps/web", "start": ("npx", "--yes", "pnpm@9", "dev")})
    ready = launch(
        Phase.READY, url=URL, ready_at=1000.5, in_place=True, notes=("One.", "Two."), plan=plan.model_dump(mode="json")
    )
    assert said(launch=ready) == (
        f"{MARKER}### 🟢 [Open the preview]({URL})\n\n{TABLE}"
        f"| Preview | <{URL}> |\n"
        f"| Commit | {SHA} |\n"
        "| Updated in place | 0.5 s after the push |\n"
        "| Detected | Vite 8 with npm in apps/web, started with pnpm dev |\n\n"
        "- One.\n- Two.\n\n"
        "<sub>Every push updates it. `/preview stop` takes it down.</sub>\n"
    )


@pytest.mark.parametrize(
    ("phase", "words"),
    [
        (Phase.QUEUED, "is queued"),
        (Phase.FETCHING, "is fetching the commit"),
        (Phase.DETECTING, "is looking for what to start"),
        (Phase.INSTALLING, "is installing dependencies"),
        (Phase.BUILDING, "is preparing the app"),
        (Phase.STARTING, "is starting the dev server"),
        (Phase.WAKING, "is waking up"),
        (Phase.SUPERSEDED, "is queued"),
    ],
)
def test_under_way(phase, words):
    assert said(phase=phase) == f"{MARKER}### 🟡 The preview {words} …\n\n{TABLE}| Commit | {SHA} |\n"


def test_under_way_while_the_older_commit_is_still_shown():
    body = said(launch=launch(Phase.INSTALLING, **PLANNED), box=Box(OTHER_SHA, url=URL))
    assert body == (
        f"{MARKER}### 🟡 The preview is installing dependencies …\n\n{TABLE}| Commit | {SHA} |\n"
        f"{DETECTED}| Until then | <{URL}> shows {OTHER_SHA} |\n"
    )


def test_failed_with_cause_remedy_and_log():
    failure = Failure(Phase.INSTALLING, "`npm ci` exited with code 1.", "Commit a lockfile.", "\x1b[31mnpm ERR!\x1b[0m")
    failed = launch(Phase.FAILED, failure=failure, **PLANNED)
    assert said(launch=failed) == (
        f"{MARKER}### 🔴 The preview failed while installing\n\n"
        "`npm ci` exited with code 1.\n\n"
        "**What to do:** Commit a lockfile.\n\n"
        f"{TABLE}| Commit | {SHA} |\n{DETECTED}\n"
        "<details><summary>The last lines of the log</summary>\n\n```text\nnpm ERR!\n```\n\n</details>\n\n"
        "<sub>A push tries again, and so does `/preview`.</sub>\n"
    )


@pytest.mark.parametrize(
    ("phase", "words"),
    [
        (Phase.QUEUED, "before it began"),
        (Phase.FETCHING, "while fetching the commit"),
        (Phase.DETECTING, "while looking for what to start"),
        (Phase.BUILDING, "while preparing the app"),
        (Phase.STARTING, "while starting the dev server"),
        (Phase.READY, "while it ran"),
    ],
)
def test_failed_without_remedy_or_log(phase, words):
    assert said(launch=launch(Phase.FAILED, failure=Failure(phase, "It broke."))) == (
        f"{MARKER}### 🔴 The preview failed {words}\n\nIt broke.\n\n{TABLE}| Commit | {SHA} |\n\n"
        "<sub>A push tries again, and so does `/preview`.</sub>\n"
    )


def test_a_fork_waits_for_a_maintainer():
    assert said(phase=Phase.AWAITING_APPROVAL, wanted=False) == (
        f"{MARKER}### 🔵 The preview waits for a maintainer\n\n"
        "This pull request comes from a fork, so its code runs only when somebody with write permission has looked at "
        f"it. To preview exactly this commit, comment:\n\n```\n/preview {SHA}\n```\n"
    )


@pytest.mark.parametrize("phase", [Phase.READY, Phase.INSTALLING, Phase.AWAITING_APPROVAL])
def test_being_removed(phase):
    body = said(phase=phase, wanted=False, stop_reason=StopReason.COMMAND)
    assert body == f"{MARKER}### ⚪ The preview is being removed …\n"


@pytest.mark.parametrize(
    ("reason", "words"),
    [
        (StopReason.CLOSED, "The pull request was closed. Reopening it brings the preview back."),
        (StopReason.COMMAND, "Stopped by a command. `/preview` brings it back."),
        (StopReason.OPERATOR, "Stopped by the operator. `/preview` brings it back."),
        (StopReason.EXPIRED, "Its time was up. `/preview` or a push brings it back."),
        (StopReason.REPOSITORY_GONE, "The repository is gone."),
    ],
)
def test_removed(reason, words):
    expected = f"{MARKER}### ⚪ The preview was removed\n\n{words}\n"
    assert said(phase=Phase.STOPPED, wanted=False, stop_reason=reason) == expected
    assert said(phase=None, wanted=False, stop_reason=reason) == expected


def test_a_refusal_is_found_again_by_the_comment_it_answers():
    assert refusal(42, "No.") == "<!-- branch-preview reply 42 -->\nNo.\n"
    assert refusal_marker(42) in refusal(42, "No.")
    assert refusal_marker(4) not in refusal(42, "No.")


def test_markers_of_different_pull_requests_are_not_found_in_one_another():
    one, ten = preview(number=1), preview(number=10)
    assert marker(one) not in preview_comment(ten)
    assert marker(ten) not in preview_comment(one)
    elsewhere = dataclasses.replace(one, repository=dataclasses.replace(one.repository, id=77))
    assert marker(one) not in preview_comment(elsewhere)


def test_the_longest_words_fit_into_a_comment():
    words = ("@#`|" * 20_000,)
    plan = PLAN.model_copy(update={"title": "@" * 64_000, "root": "_" * 64_000, "start": words})
    failure = Failure(Phase.INSTALLING, f"`{words[0]}` fell. " * 2, "@" * 64_000, "`\U0001f600" * 64_000)
    said_at_length = said(launch=launch(Phase.FAILED, failure=failure, plan=plan.model_dump(mode="json")))
    assert len(said_at_length) < 65_536
