"""The `/preview …` grammar: which comments command, and which only talk about commands."""

from datetime import timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bot.commands import (
    USAGE,
    Command,
    Extend,
    Help,
    Launch,
    Logs,
    Misused,
    Rebuild,
    Restart,
    Status,
    Stop,
    Unknown,
    parse,
)
from bot.preview import CommitSha

SHA = CommitSha("0123456789abcdef0123456789abcdef01234567")

WRITTEN: dict[str, Command] = {
    "/preview": Launch(),
    f"/preview {SHA}": Launch(SHA),
    f"/preview {SHA.upper()}": Launch(SHA),
    "/preview stop": Stop(),
    "/preview restart": Restart(),
    "/preview rebuild": Rebuild(),
    "/preview logs": Logs(50),
    "/preview logs 7": Logs(7),
    "/preview logs 9999": Logs(9999),
    "/preview status": Status(),
    "/preview extend 2h": Extend(timedelta(hours=2)),
    "/preview extend 30m": Extend(timedelta(minutes=30)),
    "/preview extend 1d": Extend(timedelta(days=1)),
    "/preview extend 1d12h5m": Extend(timedelta(days=1, hours=12, minutes=5)),
    "/preview help": Help(),
    "/preview extend": Misused("/preview extend DURATION"),
    "/preview extend 0h": Misused("/preview extend DURATION"),
    "/preview extend -1d": Misused("/preview extend DURATION"),
    "/preview extend 5": Misused("/preview extend DURATION"),
    "/preview extend ²h": Misused("/preview extend DURATION"),
    "/preview extend 99999999999999999999d": Misused("/preview extend DURATION"),
    "/preview logs 0": Misused("/preview logs [N]"),
    "/preview logs -5": Misused("/preview logs [N]"),
    "/preview logs all": Misused("/preview logs [N]"),
    "/preview logs ٣": Misused("/preview logs [N]"),
    "/preview stop it please": Misused("/preview stop"),
    f"/preview {SHA} {SHA}": Misused("/preview [SHA]"),
    f"/preview {SHA[:7]}": Misused("/preview [SHA]"),
    f"/preview {SHA}0": Misused("/preview [SHA]"),
    "/preview rebuld": Unknown("rebuld", "rebuild"),
    "/preview STATUSS": Unknown("statuss", "status"),
    "/preview log": Unknown("log", "logs"),
    "/preview please": Unknown("please", None),
    "/preview " + "x" * 1000: Unknown("x" * 40, None),
}


@pytest.mark.parametrize(("line", "command"), WRITTEN.items(), ids=lambda value: str(value)[:40])
def test_every_command_as_it_is_written(line: str, command: Command) -> None:
    assert parse(line) == command


@pytest.mark.parametrize("word", [word for word in USAGE if word not in ("", "extend")])
def test_every_word_of_the_usage_is_a_command(word: str) -> None:
    assert parse(f"/preview {word}") == WRITTEN[f"/preview {word}"]


@pytest.mark.parametrize(
    "comment",
    [
        "  /preview stop  ",
        "\u00a0/preview\u00a0stop",
        "/PREVIEW Stop",
        "/preview\tstop",
        "/preview stop\r\n",
        "\r\n\r\n/preview stop\r\nthanks!\r\n",
        "Please:\n/preview stop",
        "Please:\n      /preview stop",
        "Please  \n/preview stop\\\nthanks",
        "> quoted\n\n/preview stop",
        "```\ncode\n```\n/preview stop",
        "<!-- note -->\n/preview stop",
        "/preview stop\n-- \nSent from my phone",
        "/previewing\n/preview stop",
        "Say `/preview` to start.\n/preview stop",
        "<details>\n\n/preview stop\n\n</details>",
        "<details>\n<summary>more</summary>\n\n/preview stop\n</details>",
        "<details><summary>/preview rebuild</summary>\n/preview stop\n</details>",
        "<DETAILS open>\n/preview stop\n</DETAILS>",
        "<details>\n<summary>log</summary>\n\n```\n/preview\n```\n\n</details>\n/preview stop",
        "| a |\n|---|\n| b |\n\n/preview stop",
        "/preview stop\n/preview rebuild",
        "~~~\n/preview\n~~~\n- /preview\n\n/preview stop\n\n/preview rebuild",
    ],
)
def test_a_line_of_its_own_commands_and_the_first_one_counts(comment: str) -> None:
    assert parse(comment) == Stop()


@pytest.mark.parametrize(
    "comment",
    [
        "",
        "preview",
        "/previewing",
        "/preview-stop",
        "/preview/stop",
        "/preview: stop",
        "//preview",
        "please /preview",
        "see https://example.org/preview",
        "`/preview`",
        "`` /preview ``",
        "`a\n/preview\nb`",
        "/preview `stop`",
        "\\/preview",
        "&#47;preview",
        "**/preview**",
        "# /preview",
        "> /preview",
        ">/preview stop",
        "> a\n> /preview",
        "> a lazy quote\n/preview",
        "> > /preview",
        "- /preview",
        "1. /preview",
        "1. one\n   /preview",
        "    /preview",
        "\t/preview",
        "```\n/preview\n```",
        "```sh\r\n/preview stop\r\n```",
        "````\n```\n/preview\n```\n````",
        "```\n/preview",
        "~~~ text\n/preview\n~~~",
        "  ```\n/preview\n  ```",
        "<!-- /preview -->",
        "<!--\n/preview\n-->",
        "<!--\n\n/preview\n\n-->",
        "text <!--\n/preview\n-->",
        "<!-- never closed\n\n/preview",
        "<pre>\n/preview\n\n/preview\n</pre>",
        "<details><pre>\n/preview\n</pre></details>",
        "<details>\n<!--\n/preview\n-->\n</details>",
        "<details>\n```\n/preview\n```\n</details>",
        "| command |\n|---|\n/preview",
        "[a link](\n/preview\n)",
        "[a reference]:\n/preview",
    ],
)
def test_whoever_only_talks_about_a_command_gives_none(comment: str) -> None:
    """B30 and B31: what a reader does not see as a plain line of its own is no command."""
    assert parse(comment) is None


def _indent(text: str, by: str) -> str:
    return "\n".join(by + line for line in text.split("\n"))


COMMANDS = {line: command for line, command in WRITTEN.items() if not isinstance(command, Misused | Unknown)}
SPOKEN = st.sampled_from(sorted(COMMANDS))
PROSE = st.text("abc .,!", min_size=1, max_size=30).map(lambda text: f"so {text.strip()}")
SILENT = st.one_of(
    PROSE,
    SPOKEN.map(lambda line: f"> {line}"),
    SPOKEN.map(lambda line: f"> quote\n> \n> {line}"),
    SPOKEN.map(lambda line: f"`{line}`"),
    SPOKEN.map(lambda line: f"say {line}"),
    SPOKEN.map(lambda line: f"```\n{line}\n\n{line}\n```"),
    SPOKEN.map(lambda line: f"~~~~ sh\n{line}\n~~~\n{line}\n~~~~"),
    SPOKEN.map(lambda line: f"so\n\n{_indent(line, '    ')}"),
    SPOKEN.map(lambda line: f"<!--\n{line}\n\n{line}\n-->"),
    SPOKEN.map(lambda line: f"- a list\n\n  {line}"),
    SPOKEN.map(lambda line: line.replace("/preview", "/previews")),
)
LINE_END = st.sampled_from(["\n", "\r\n"])


@settings(deadline=None)
@given(before=st.lists(SILENT, max_size=4), line=SPOKEN, after=st.lists(SILENT | SPOKEN, max_size=3), end=LINE_END)
def test_a_command_is_heard_between_anything_that_is_none(
    before: list[str], line: str, after: list[str], end: str
) -> None:
    # The prose ends a list, whose item would otherwise go on.
    blocks = [*(f"{block}\n\nso it is" for block in before), line, *after]
    assert parse("\n\n".join(blocks).replace("\n", end)) == COMMANDS[line]


@settings(deadline=None)
@given(blocks=st.lists(SILENT, max_size=6), end=LINE_END)
def test_without_a_plain_line_nothing_is_heard(blocks: list[str], end: str) -> None:
    assert parse("\n\n".join(blocks).replace("\n", end)) is None


@settings(deadline=None)
@given(line=SPOKEN, left=st.text(" ", max_size=3), right=st.text(" \t", max_size=5), data=st.data())
def test_blanks_and_capitals_change_nothing(line: str, left: str, right: str, data: st.DataObject) -> None:
    cased = "".join(data.draw(st.sampled_from([letter.lower(), letter.upper()])) for letter in line)
    assert parse(left + cased.replace(" ", "  ") + right) == COMMANDS[line]


@settings(deadline=None)
@given(st.text(max_size=200) | st.text("`~<>!-/preview \n\t|*_[]()\\&;#details", max_size=200))
def test_no_text_breaks_the_grammar(text: str) -> None:
    command = parse(text)
    assert command is None or "/preview" in text.lower()


@pytest.mark.parametrize("noise", ["[", "![a", "<summary>", "`a", "> ", "- ", "<!--x\n-->\n", "|a|\n|-|\n"])
def test_a_hostile_comment_as_long_as_github_takes_is_still_read(noise: str) -> None:
    """A parser whose cost is quadratic in the whole comment would not come back from this."""
    assert parse("/preview stop\n\n" + (noise * 65_000)[:65_000]) == Stop()
