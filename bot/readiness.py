"""Whether an answer came from the living app. Pure: the answer in, a judgement out."""

from dataclasses import dataclass

from bot.plan import Readiness

GOOD_ANSWERS = 2
"""How many good answers in a row make an app ready."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What the preview's URL answered; `body` is its beginning."""

    status: int
    body: str


@dataclass(frozen=True, slots=True)
class Problem:
    """Why an answer does not count, in one sentence, and what would mend it."""

    cause: str
    remedy: str = "Look at the log below for the error behind it."


def judge(answer: Answer, readiness: Readiness) -> Problem | None:
    """What is wrong with an answer; None: the app is alive.

    A status says little: webpack-dev-server answers 200 with "Invalid Host header", Vite 403 with "Blocked request",
    and an API without a home page answers 404 and is fine. So known error pages are told by their body first.
    """
    for sign, remedy in readiness.failure_signs.items():
        if sign in answer.body:
            return Problem(f"The page says “{sign}”.", remedy)
    if readiness.accept:
        codes = ", ".join(map(str, readiness.accept))
        wrong = answer.status not in readiness.accept
        return Problem(f"The app answers {answer.status} on `{readiness.path}`, not {codes}.") if wrong else None
    return Problem(f"The app answers {answer.status} on `{readiness.path}`.") if answer.status >= 500 else None
