"""What happens to the HTTP requests for one domain: the first rule that fits a request changes, moves or answers it.

Semantics as in https://vercel.com/docs/sandbox/concepts/firewall: all dimensions of a match must fit, several methods
are alternatives, every query or header matcher needs an entry that it fits, and a request that no rule fits passes as
it is. Patterns are RE2's, found anywhere in the value: whatever a sandbox sends, they cost linear time.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from urllib.parse import parse_qsl, unquote

import re2  # type: ignore[import-untyped]

Pairs = tuple[tuple[str, str], ...]


class Kind(StrEnum):
    EXACT = "exact"
    STARTS_WITH = "startsWith"
    REGEX = "regex"


@dataclass(frozen=True, slots=True)
class Matcher:
    kind: Kind
    value: str

    def fits(self, text: str) -> bool:
        if self.kind is Kind.EXACT:
            return text == self.value
        if self.kind is Kind.STARTS_WITH:
            return text.startswith(self.value)
        return re2.search(self.value, text) is not None


@dataclass(frozen=True, slots=True)
class PairMatcher:
    key: Matcher | None = None
    value: Matcher | None = None

    def fits(self, pairs: Iterable[tuple[str, str]]) -> bool:
        return any(_fits(self.key, key) and _fits(self.value, value) for key, value in pairs)


@dataclass(frozen=True, slots=True)
class RequestHead:
    """`target` is path and query as sent; names of `headers` are lower case."""

    method: str
    target: str
    headers: Pairs

    @property
    def path(self) -> str:
        return self.target.partition("?")[0]

    @property
    def query(self) -> Sequence[tuple[str, str]]:
        return parse_qsl(self.target.partition("?")[2], keep_blank_values=True)

    @property
    def is_plain(self) -> bool:
        """Whether every server reads the path as the same: no `..` that a server may resolve after we matched it."""
        return not {".", ".."} & set(unquote(self.path).replace("\\", "/").split("/"))


@dataclass(frozen=True, slots=True)
class Match:
    path: Matcher | None = None
    methods: tuple[str, ...] = ()
    query: tuple[PairMatcher, ...] = ()
    headers: tuple[PairMatcher, ...] = ()

    @property
    def dimensions(self) -> list[str]:
        """In the API's words."""
        present = {"path": self.path, "method": self.methods, "query": self.query, "headers": self.headers}
        return [name for name, value in present.items() if value]

    def fits(self, request: RequestHead) -> bool:
        return (
            _fits(self.path, request.path)
            and (not self.methods or request.method in self.methods)
            and all(matcher.fits(request.query) for matcher in self.query)
            and all(matcher.fits(request.headers) for matcher in self.headers)
        )


@dataclass(frozen=True, slots=True)
class CannedResponse:
    status: int
    headers: Pairs = ()
    body: str = ""


@dataclass(frozen=True, slots=True)
class Rule:
    """Exactly one of `headers` (set on the request), `forward_url` and `response`; values of headers are secrets."""

    match: Match | None = None
    headers: Pairs = field(default=(), repr=False)
    forward_url: str | None = None
    response: CannedResponse | None = None


@dataclass(frozen=True, slots=True)
class DomainRules:
    domain: str
    rules: tuple[Rule, ...]


def is_pattern(text: str) -> bool:
    try:
        re2.compile(text)
    except re2.error:
        return False
    return True


def first_fit(rules: Iterable[Rule], request: RequestHead) -> Rule | None:
    return next((rule for rule in rules if rule.match is None or rule.match.fits(request)), None)


def _fits(matcher: Matcher | None, text: str) -> bool:
    return matcher is None or matcher.fits(text)
