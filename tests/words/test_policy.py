"""Who gets a preview and who may command it: a table written by hand, independent of the code."""

import itertools

import pytest

from bot import commands
from bot.policy import AskApproval, Ignore, Launch, Refuse, Rules, Stop, decide, decide_command
from bot.preview import Phase, RepoId, StopReason
from tests.words.nouns import OTHER_SHA, SHA, launch, preview, pull_request

NONE = None
NEVER, STANDS = preview(wanted=False), preview(Phase.READY)
HELD = preview(Phase.STOPPED, wanted=False, held=True)
APPROVED = preview(Phase.READY, approved_sha=SHA)
APPROVED_BEFORE = preview(Phase.READY, approved_sha=OTHER_SHA)
BRANCH, DRAFT = pull_request(), pull_request(draft=True)
BOT, DRAFTING_BOT = pull_request(author_is_bot=True), pull_request(author_is_bot=True, draft=True)
FORK, ORPHAN = pull_request(head_repo_id=RepoId(8)), pull_request(head_repo_id=None)
CLOSED, CLOSED_FORK = pull_request(open=False), pull_request(open=False, head_repo_id=RepoId(8))

LAUNCH, ASK, STOP, IGNORE = Launch(SHA), AskApproval(SHA), Stop(StopReason.CLOSED), Ignore
STRICT, DRAFTS, BOTS, ALL = Rules(), Rules(drafts=True), Rules(bots=True), Rules(drafts=True, bots=True)


@pytest.mark.parametrize(
    ("pull", "known", "rules", "expected"),
    [
        # a branch of the repository, by a person
        (BRANCH, NONE, STRICT, LAUNCH),
        (BRANCH, NEVER, STRICT, LAUNCH),
        (BRANCH, STANDS, STRICT, LAUNCH),
        (BRANCH, HELD, STRICT, IGNORE),
        # drafts
        (DRAFT, NONE, STRICT, IGNORE),
        (DRAFT, NONE, DRAFTS, LAUNCH),
        (DRAFT, NONE, BOTS, IGNORE),
        (DRAFT, STANDS, STRICT, LAUNCH),
        (DRAFT, HELD, DRAFTS, IGNORE),
        # bots
        (BOT, NONE, STRICT, IGNORE),
        (BOT, NONE, BOTS, LAUNCH),
        (BOT, NONE, DRAFTS, IGNORE),
        (BOT, STANDS, STRICT, LAUNCH),
        (DRAFTING_BOT, NONE, DRAFTS, IGNORE),
        (DRAFTING_BOT, NONE, BOTS, IGNORE),
        (DRAFTING_BOT, NONE, ALL, LAUNCH),
        # forks: no setting lets them in, and an approval is worth one commit
        (FORK, NONE, ALL, ASK),
        (FORK, STANDS, ALL, ASK),
        (FORK, APPROVED, STRICT, LAUNCH),
        (FORK, APPROVED_BEFORE, ALL, ASK),
        (FORK, HELD, ALL, IGNORE),
        (ORPHAN, NONE, ALL, ASK),
        # closed: down, whatever the settings say
        (CLOSED, NONE, ALL, IGNORE),
        (CLOSED, STANDS, ALL, STOP),
        (CLOSED, HELD, STRICT, STOP),
        (CLOSED, APPROVED, STRICT, STOP),
        (CLOSED_FORK, APPROVED, STRICT, STOP),
    ],
)
def test_a_pull_request_gets_what_the_table_says(pull, known, rules, expected):
    decided = decide(pull, known, rules)
    assert isinstance(decided, Ignore) if expected is IGNORE else decided == expected


def test_nothing_of_a_fork_ever_runs_without_approval_of_its_head():
    rules = [Rules(*choice) for choice in itertools.product((False, True), repeat=2)]
    known = [None, NEVER, STANDS, HELD, APPROVED_BEFORE]
    pulls = [pull_request(head_repo_id=repo, draft=draft) for repo in (RepoId(8), None) for draft in (False, True)]
    decided = [decide(*each) for each in itertools.product(pulls, known, rules)]
    assert not any(isinstance(action, Launch) for action in decided)


COME, GO = commands.Launch(), commands.Stop()
COME_SHA, COME_OTHER = commands.Launch(SHA), commands.Launch(OTHER_SHA)
SHOWN, MOVED = preview(Phase.AWAITING_APPROVAL), preview(wanted=False, launch=launch(Phase.READY, sha=OTHER_SHA))


@pytest.mark.parametrize(
    ("command", "pull", "known", "expected"),
    [
        (COME, BRANCH, NONE, Launch(SHA)),
        (COME, DRAFT, NONE, Launch(SHA)),
        (COME, BOT, NONE, Launch(SHA)),
        (COME, BRANCH, STANDS, Launch(SHA)),
        (COME, BRANCH, HELD, Launch(SHA)),
        (COME, BRANCH, preview(Phase.FAILED), Launch(SHA, again=True)),
        (COME, BRANCH, preview(Phase.INSTALLING), Launch(SHA)),
        (COME_SHA, BRANCH, NONE, Launch(SHA)),
        (COME_OTHER, BRANCH, STANDS, Refuse),
        (COME, FORK, SHOWN, Refuse),
        (COME, FORK, APPROVED, Launch(SHA, approved=True)),
        (COME, FORK, APPROVED_BEFORE, Refuse),
        (COME, FORK, MOVED, Refuse),
        (COME, FORK, NONE, Refuse),
        (COME_SHA, FORK, MOVED, Launch(SHA, approved=True)),
        (COME_SHA, FORK, NONE, Launch(SHA, approved=True)),
        (COME_OTHER, FORK, MOVED, Refuse),
        (GO, BRANCH, STANDS, Stop(StopReason.COMMAND, hold=True)),
        (GO, BRANCH, NONE, Stop(StopReason.COMMAND, hold=True)),
        (GO, FORK, APPROVED, Stop(StopReason.COMMAND, hold=True)),
        (commands.Help(), BRANCH, STANDS, Refuse),
        (commands.Unknown("lunch", "launch"), BRANCH, STANDS, Refuse),
        (COME, CLOSED, STANDS, Ignore),
        (GO, CLOSED, STANDS, Ignore),
    ],
)
def test_a_writer_s_command_does_what_the_table_says(command, pull, known, expected):
    decided = decide_command(command, pull, known, may_write=True)
    assert isinstance(decided, expected) if isinstance(expected, type) else decided == expected


@pytest.mark.parametrize("command", [COME, COME_SHA, GO, commands.Help()])
@pytest.mark.parametrize("pull", [BRANCH, FORK, DRAFT])
def test_whoever_may_not_write_is_refused_and_told_why(command, pull):
    assert decide_command(command, pull, STANDS, may_write=False) == Refuse(
        "Only people with write permission to this repository can command its previews."
    )


def test_a_refused_approval_names_the_commit_to_look_at():
    refused = decide_command(COME, FORK, SHOWN, may_write=True)
    assert refused == Refuse(f"This pull request comes from a fork: look at {SHA}, then comment `/preview {SHA}`.")
