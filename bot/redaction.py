"""What may leave the bot: secrets masked, terminal codes and Markdown defused, long output cut to its tail."""

import base64
import json
import re
from collections.abc import Iterable
from urllib.parse import quote, quote_plus

MASK = "•••"
LONGEST_LINE = 600
"""Of a longer one the middle is left out: GitHub takes no comment that is longer than 65,536 characters."""
MIN_SECRET_LENGTH = 6
"""Shorter values would mask ordinary words."""

_ESCAPES = re.compile(
    r"\x1b\[[0-?]*[ -/]*[@-~]"  # CSI: colours, cursor
    r"|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)?"  # OSC: titles, links
    r"|\x1b[PX^_][^\x1b]*(?:\x1b\\)?"  # DCS and its kin
    r"|\x1b[@-Z\\-_]"
)
_CONTROLS = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f"
    # zero-width, breaking and bidirectional: text that lies
    "\xad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff\U000e0000-\U000e007f"
    "\ud800-\udfff]"  # halves of characters, which no encoding can carry
)
_CODE_SPAN = re.compile(r"(?<!`)`([^`]+)`(?!`)")
_MARKUP = re.compile(r"[\\`*_{}\[\]<>|~!:&$]|(?<=www)\.|^[-+=]|^\d(?=\d*[.)])", re.IGNORECASE)


class Redactor:
    """Masks every secret that it was told of: as it is, and encoded as base64, for a URL or as JSON."""

    def __init__(self, secrets: Iterable[str] = ()) -> None:
        self._forms: set[str] = set()
        for secret in secrets:
            self.add(secret)

    def add(self, secret: str) -> None:
        """Mask this value from now on. Values under six characters are left alone."""
        if len(secret) < MIN_SECRET_LENGTH:
            return
        self._forms |= {secret, json.dumps(secret)[1:-1], *_url_forms(secret), *_base64_forms(secret)}
        if "\n" in secret:  # a key in PEM form is printed line by line
            self._forms |= {line for line in secret.splitlines() if len(line) > 2 * MIN_SECRET_LENGTH}

    def mask(self, text: str) -> str:
        """The text without secrets."""
        for form in sorted(self._forms, key=len, reverse=True):
            text = text.replace(form, MASK)
        return text


def _url_forms(secret: str) -> set[str]:
    forms = {quote(secret, safe=""), quote(secret), quote_plus(secret)}
    return forms | {re.sub("%..", lambda code: code[0].lower(), form) for form in forms}


def _base64_forms(secret: str) -> set[str]:
    """The parts of a secret's base64 form that do not depend on what stands before and after it."""
    forms = set()
    for shift in range(3):
        encoded = base64.b64encode(b"\0" * shift + secret.encode()).decode().rstrip("=")
        core = encoded[(0, 2, 3)[shift] : len(encoded) - len(encoded) % 4]
        if len(core) >= MIN_SECRET_LENGTH:
            forms |= {core, core.replace("+", "-").replace("/", "_")}
    return forms


def plain(text: str) -> str:
    """Text without terminal codes, control and invisible characters; a rewritten line keeps its last state."""
    text = _ESCAPES.sub("", text.replace("\r\n", "\n"))
    lines = (line.rstrip("\r").rpartition("\r")[2] for line in text.split("\n"))
    return _CONTROLS.sub("", "\n".join(lines))


def tail(text: str, *, lines: int = 40, characters: int = 4000) -> str:
    """The last lines, at most so many and so long, saying so when something was cut."""
    all_lines = text.strip("\n").split("\n")
    kept = "\n".join(all_lines[-lines:])
    if len(kept) > characters:
        kept = kept[-characters:].partition("\n")[2] or kept[-characters:]
        return f"… (cut)\n{kept}"
    return f"… ({len(all_lines) - lines} lines before)\n{kept}" if len(all_lines) > lines else kept


def code_block(text: str) -> str:
    """A fenced block that its content cannot close. Mentions in a fence notify nobody."""
    longest = max((len(run) for run in re.findall(r"`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}text\n{text}\n{fence}"


def inline(text: str) -> str:
    """Text for one line of Markdown or a table cell: no markup, no HTML, no mention, no link, no line break."""
    return _inert(_one_line(text))


def prose(text: str) -> str:
    """A sentence of ours that may quote a repository's words: its `code spans` stay, all else is as `inline` has it."""
    parts = _CODE_SPAN.split(_one_line(text))
    return "".join(f"`{part}`" if index % 2 else _inert(part) for index, part in enumerate(parts))


def _one_line(text: str) -> str:
    words = " ".join(plain(text.replace("\r", " ")).split())
    if len(words) <= LONGEST_LINE:
        return words
    return f"{words[: LONGEST_LINE * 2 // 3]} … {words[-LONGEST_LINE // 3 :]}"


def _inert(text: str) -> str:
    """Numeric character references render as themselves and mean nothing to Markdown.

    https://spec.commonmark.org/0.31.2/#entity-and-numeric-character-references
    GitHub looks for mentions and issue numbers in what is rendered, so there they are parted by a space without width.
    """
    text = _MARKUP.sub(lambda found: f"&#{ord(found[0])};", text)
    return re.sub(r"(?<!&)#|@|(?<=\bgh)-(?=\d)", lambda found: f"&#{ord(found[0])};&#8203;", text, flags=re.IGNORECASE)
