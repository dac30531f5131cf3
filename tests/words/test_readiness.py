"""When an answer counts as the living app."""

import pytest

from bot.plan import Readiness
from bot.readiness import Answer, judge

ANY, ONLY_OK = Readiness(), Readiness(path="/health", accept=(200, 204))
VITE = Readiness(failure_signs={"Blocked request": "Allow the host.", "Invalid Host header": "Allow it."})


@pytest.mark.parametrize(
    ("status", "body", "readiness", "cause"),
    [
        (200, "<h1>Hello</h1>", ANY, None),
        (200, "", ANY, None),
        (302, "", ANY, None),
        (401, "Log in", ANY, None),
        (404, "Not Found", ANY, None),
        (500, "Traceback", ANY, "The app answers 500 on `/`."),
        (502, "Bad Gateway", ANY, "The app answers 502 on `/`."),
        (204, "", ONLY_OK, None),
        (404, "", ONLY_OK, "The app answers 404 on `/health`, not 200, 204."),
        (503, "", ONLY_OK, "The app answers 503 on `/health`, not 200, 204."),
        (200, "Invalid Host header", VITE, "The page says “Invalid Host header”."),
        (403, 'Blocked request. This host ("x") is not allowed.', VITE, "The page says “Blocked request”."),
        (200, "Hello", VITE, None),
    ],
)
def test_an_answer_is_judged_by_body_and_status(status, body, readiness, cause):
    problem = judge(Answer(status, body), readiness)
    assert (problem and problem.cause) == cause


def test_a_known_error_page_brings_its_remedy_even_with_a_status_that_is_accepted():
    readiness = VITE.model_copy(update={"accept": (200,)})
    problem = judge(Answer(200, "… Invalid Host header …"), readiness)
    assert problem is not None
    assert problem.remedy == "Allow it."
