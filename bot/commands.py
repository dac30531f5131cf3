"""The `/preview …` grammar: the text of a comment -> the first command in it, or none.

A command is a line of its own that a reader of the rendered comment sees as plain text. What the reader sees is asked
of a Markdown parser: quotes, code of every kind, HTML comments and link targets are no plain text.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import timedelta
from difflib import get_close_matches
from typing import Final

from markdown_it import MarkdownIt
from markdown_it.token import Token

from bot.preview import CommitSha

MAX_COMMENT_CHARS: Final = 65_536
"""GitHub takes no longer comment."""


@dataclass(frozen=True, slots=True)
class Launch:
    """`/preview [SHA]`: bring up the head, or say that exactly this commit is the one that was looked at."""

    sha: CommitSha | None = None


@dataclass(frozen=True, slots=True)
class Stop:
    """`/preview stop`: take the preview down."""


@dataclass(frozen=True, slots=True)
class Restart:
    """`/preview restart`: start the dev server anew, on the same files."""


@dataclass(frozen=True, slots=True)
class Rebuild:
    """`/preview rebuild`: begin from nothing."""


@dataclass(frozen=True, slots=True)
class Logs:
    """`/preview logs [N]`: show the last `lines` lines, 1 to 9999."""

    lines: int = 50


@dataclass(frozen=True, slots=True)
class Status:
    """`/preview status`: say how the preview stands."""


@dataclass(frozen=True, slots=True)
class Extend:
    """`/preview extend DURATION`: keep the preview for that much longer; always more than nothing."""

    duration: timedelta


@dataclass(frozen=True, slots=True)
class Help:
    """`/preview help`: list the commands."""


@dataclass(frozen=True, slots=True)
class Misused:
    """A command with words that it does not take; `usage` shows how it is written."""

    usage: str


@dataclass(frozen=True, slots=True)
class Unknown:
    """No command: the `word` (lower case, at most 40 characters) and the `nearest` one that exists, if any is near."""

    word: str
    nearest: str | None


Command = Launch | Stop | Restart | Rebuild | Logs | Status | Extend | Help | Misused | Unknown

USAGE: Final = {
    "": "/preview [SHA]",
    "stop": "/preview stop",
    "restart": "/preview restart",
    "rebuild": "/preview rebuild",
    "logs": "/preview logs [N]",
    "status": "/preview status",
    "extend": "/preview extend DURATION",
    "help": "/preview help",
}
"""How each command is written, by its word. SHA has 40 digits, N counts lines, DURATION is like `30m`, `2h`, `1d`."""

_ALONE: Final[dict[str, Command]] = {
    "stop": Stop(),
    "restart": Restart(),
    "rebuild": Rebuild(),
    "logs": Logs(),
    "status": Status(),
    "help": Help(),
}
_SHA = re.compile(r"[0-9a-f]{40}")
_LOOKS_LIKE_A_SHA = re.compile(r"[0-9a-f]{7,}")
_LINES = re.compile(r"[1-9][0-9]{0,3}")
_DURATION = re.compile(r"(?:([0-9]{1,3})d)?(?:([0-9]{1,4})h)?(?:([0-9]{1,5})m)?")

# Without `text_join`, what was written with a backslash or as an entity stays apart from plain text.
_MARKDOWN = MarkdownIt("commonmark").enable("table").disable("text_join")

# In the HTML of a fold these are no text; the bounds keep hostile comments from costing quadratic time.
_FOLD = re.compile(r"\s*</?(?:details|summary)\b", re.IGNORECASE)
_SUMMARY = re.compile(r"<summary\b[^<>]{0,200}>.{0,500}?</summary>", re.IGNORECASE | re.DOTALL)
_FOLD_TAG = re.compile(r"</?(?:details|summary)\b[^<>]{0,200}>", re.IGNORECASE)


def parse(comment: str) -> Command | None:
    """The first command of a comment."""
    comment = comment[:MAX_COMMENT_CHARS]
    if "/preview" not in comment.lower():
        return None
    for line in _plain_lines(comment):
        words = line.lower().split()
        if words and words[0] == "/preview":
            return _command(words[1:])
    return None


def _command(words: list[str]) -> Command:
    return _understood(words) or _not_understood(words[0])


def _understood(words: list[str]) -> Command | None:
    match words:
        case []:
            return Launch()
        case [word] if word in _ALONE:
            return _ALONE[word]
        case [sha] if _SHA.fullmatch(sha):
            return Launch(CommitSha(sha))
        case ["logs", lines] if _LINES.fullmatch(lines):
            return Logs(int(lines))
        case ["extend", text] if duration := _duration(text):
            return Extend(duration)
        case _:
            return None


def _not_understood(word: str) -> Command:
    if word in USAGE:
        return Misused(USAGE[word])
    if _LOOKS_LIKE_A_SHA.fullmatch(word):
        return Misused(USAGE[""])
    near = get_close_matches(word[:40], [known for known in USAGE if known], n=1)
    return Unknown(word[:40], near[0] if near else None)


def _duration(text: str) -> timedelta | None:
    """`2h`, `1d12h`, `90m`; None for anything else, and for nothing at all."""
    found = _DURATION.fullmatch(text)
    if not found:
        return None
    days, hours, minutes = (int(number or 0) for number in found.groups())
    return timedelta(days=days, hours=hours, minutes=minutes) or None


def _plain_lines(markdown: str, *, unfold: bool = True) -> Iterator[str]:
    """The lines that are nothing but text, outside of quotes, lists, tables and code."""
    opening = ""
    for token in _MARKDOWN.parse(markdown):
        if token.type == "inline" and token.level == 1 and opening in ("paragraph_open", "underlined"):
            yield from _text_lines(token.children or [])
        elif token.type == "html_block" and unfold and _FOLD.match(token.content):
            # Without a blank line after <details>, Markdown takes what is folded for HTML; readers see text.
            yield from _plain_lines(_FOLD_TAG.sub("\n\n", _SUMMARY.sub("\n\n", token.content)), unfold=False)
        # "-- " below a line, as in an e-mail's signature, makes it a heading.
        opening = "underlined" if token.type == "heading_open" and token.markup in ("-", "=") else token.type


def _text_lines(children: list[Token]) -> Iterator[str]:
    line: list[str] | None = []
    for child in [*children, Token("softbreak", "br", 0)]:
        if child.type in ("softbreak", "hardbreak"):
            if line is not None:
                yield "".join(line)
            line = []
        elif child.type != "text":
            line = None
        elif line is not None:
            line.append(child.content)
