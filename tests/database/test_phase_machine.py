"""Whatever is decided and written in whatever order: the phases keep to the diagram, and old runs write nothing."""

import asyncio
import dataclasses
import tempfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from bot.decisions import Decisions
from bot.errors import Superseded
from bot.preview import NEXT, Box, CommitSha, Failure, Launch, Phase, StopReason
from bot.previews import Previews
from bot.store import Store
from tests.words.nouns import REPOSITORY

SHAS = st.sampled_from([CommitSha(letter * 40) for letter in "abc"])
PHASES = st.sampled_from(list(Phase))
AGES = st.sampled_from([0, 0, 0, 1, 2])
"""How many decisions ago a writer began."""


class PhaseMachine(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.folder = tempfile.TemporaryDirectory()
        self.runner = asyncio.Runner()
        self.store = Store(f"sqlite:///{Path(self.folder.name) / 'preview.db'}")
        self.store.migrate()
        self.previews, self.decisions = Previews(self.store), Decisions(self.store)
        self.id = self.run(self.previews.ensure(REPOSITORY, 3)).id
        self.before = self.now()

    def run(self, coroutine):
        return self.runner.run(coroutine)

    def now(self):
        return self.run(self.previews.get(self.id))

    def teardown(self):
        self.store.close()
        self.runner.close()
        self.folder.cleanup()

    @rule(sha=SHAS, again=st.booleans(), approved=st.booleans())
    def launch(self, sha, again, approved):
        generation = self.run(self.decisions.launch(self.before, sha, requested_at=1.0, again=again, approved=approved))
        now = self.now()
        assert (now.generation, now.wanted, now.held, now.stop_reason) == (generation, True, False, None)
        assert (now.launch.sha, now.launch.generation) == (sha, generation)
        if again:
            assert generation == self.before.generation + 1

    @rule(sha=SHAS)
    def await_approval(self, sha):
        changed = self.run(self.decisions.await_approval(self.before, sha, requested_at=1.0))
        now = self.now()
        assert (now.launch.phase, now.launch.sha) == (Phase.AWAITING_APPROVAL, sha)
        assert now.generation == self.before.generation + changed
        assert not now.wanted

    @rule(hold=st.booleans())
    def stop(self, hold):
        changed = self.run(self.decisions.stop(self.before, StopReason.COMMAND, hold=hold))
        now = self.now()
        assert now.generation == self.before.generation + changed
        assert not now.wanted
        assert now.stop_reason
        assert now.held or not hold

    @precondition(lambda self: not self.before.wanted)
    @rule(age=AGES)
    def stopped(self, age):
        self.run(self.decisions.stopped(self.before, self.before.generation - age))
        now = self.now()
        if age:
            assert now == self.before
        elif now.stop_reason and now.launch:
            assert now.launch.phase.ended

    @rule(age=AGES, phase=PHASES)
    def enter(self, age, phase):
        launch = self.before.launch
        try:
            self.run(self.previews.enter(self.id, self.before.generation - age, phase))
        except Superseded:
            assert self.now() == self.before
        else:
            assert not age
            assert launch is not None
            assert launch.generation == self.before.generation

    @rule(age=AGES, kind=st.sampled_from(["fail", "note", "box"]))
    def write(self, age, kind):
        generation = self.before.generation - age
        work = {
            "fail": self.previews.fail(self.id, generation, Failure(Phase.QUEUED, "It broke.")),
            "note": self.previews.note(self.id, generation, "A note."),
            "box": self.previews.set_box(self.id, generation, Box(CommitSha("d" * 40))),
        }
        chosen = work.pop(kind)
        for other in work.values():
            other.close()
        current = self.before.launch
        may = not age and current and current.generation == generation and not current.phase.ended
        if kind == "fail" and current and current.phase is Phase.AWAITING_APPROVAL:
            may = False
        if may:
            self.run(chosen)
        else:
            with pytest.raises(Superseded):
                self.run(chosen)
            assert self.now() == self.before

    @invariant()
    def what_changed_was_allowed(self):
        before, now = self.before, self.now()
        self.before = now
        assert before.generation <= now.generation <= before.generation + 1
        shown = [dataclasses.replace(each, version=0, box=None, approved_sha=None) for each in (before, now)]
        assert now.version >= before.version
        assert now.version > before.version or shown[0] == shown[1]
        if before.launch and now.launch:
            assert may_follow(before.launch, now.launch)


def may_follow(before: Launch, now: Launch) -> bool:
    if now.generation == before.generation:
        return now.phase is before.phase or now.phase in NEXT[before.phase]
    return now.phase in {Phase.QUEUED, Phase.AWAITING_APPROVAL}


PhaseMachine.TestCase.settings = settings(
    max_examples=25, stateful_step_count=15, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
test_no_order_of_events_breaks_the_diagram = PhaseMachine.TestCase
