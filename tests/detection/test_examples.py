"""Every folder of tests/examples is a tiny repository: its expect.json says what detection must answer."""

import json
from pathlib import Path

import pytest

from bot.checkout import detect_checkout
from bot.errors import NothingToPreview
from bot.plan_json import plan_json

EXAMPLES = sorted(path.parent for path in (Path(__file__).parent.parent / "examples").glob("*/expect.json"))


def answer(example: Path) -> dict[str, object]:
    try:
        return plan_json(detect_checkout(example))
    except NothingToPreview as nothing:
        return plan_json(nothing)


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.name)
def test_an_example_gets_the_expected_plan(example: Path) -> None:
    expected = json.loads((example / "expect.json").read_text())
    got = answer(example)
    reason = expected.pop("reason_says", "")
    assert {key: got[key] for key in expected} == expected
    assert reason in str(got["reason"])


def test_there_are_examples_of_both_answers() -> None:
    wanted = {json.loads((example / "expect.json").read_text())["previewable"] for example in EXAMPLES}
    assert wanted == {True, False}
