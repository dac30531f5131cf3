"""The bot, made to die like in a power cut at one chosen point: `python -m tests.whole.crashing serve`.

The file that CRASH_FILE names holds the point; it is removed just before, so that it happens once. The points:

    act:before        a pull request's delivery is stored, and nothing was done about it
    decide:after      the decision stands in the database, and no workflow was started
    KIND/STEP:before  of a workflow's step (launch/fetch, teardown/tell, …), before it begins
    KIND/STEP:effect  its work is done, and nothing remembers that
    KIND/STEP:after   its result is recorded, and the next has not begun
"""

import os
import signal
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from bot import steps
from bot.decisions import Decisions

PHASES = ("fetch", "detect", "install", "start", "check")
ENDS = ("settle", "destroy", "tell")
Call = Callable[..., Awaitable[Any]]


def crash(point: str) -> None:
    """Die here, if this is the point."""
    from dbos import DBOS

    order = Path(os.environ["CRASH_FILE"])
    kind = (DBOS.workflow_id or "").partition(":")[0]
    if order.exists() and order.read_text() in {point, f"{kind}/{point}"}:
        order.unlink()
        os.kill(os.getpid(), signal.SIGKILL)


def dying(call: Call, *, before: str | None = None, after: str | None = None) -> Call:
    """The call with a crash on either side."""

    async def wrapped(*words: Any, **named: Any) -> Any:
        if before:
            crash(before)
        result = await call(*words, **named)
        if after:
            crash(after)
        return result

    wrapped.__name__ = wrapped.__qualname__ = getattr(call, "__name__", "wrapped")
    return wrapped


def arm() -> None:
    """Put the crash points in. The phases' work is wrapped before `bot.workflow` makes durable steps of it."""
    for name in PHASES:
        setattr(steps, name, dying(getattr(steps, name), after=f"{name}:effect"))
    from bot import workflow
    from bot.inbox import Stored
    from bot.intake import Intake

    for name in (*PHASES, *ENDS):
        setattr(workflow, name, dying(getattr(workflow, name), before=f"{name}:before", after=f"{name}:after"))
    for name in ("launch", "stop"):
        setattr(Decisions, name, dying(getattr(Decisions, name), after="decide:after"))
    act = Intake.act

    async def act_or_die(self: Intake, stored: Stored) -> str:
        if stored.event == "pull_request":
            crash("act:before")
        return await act(self, stored)

    Intake.act = act_or_die  # type: ignore[method-assign]


if __name__ == "__main__":
    arm()
    from bot.cli import main

    main()
