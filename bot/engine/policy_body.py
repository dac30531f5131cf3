"""The network policy as clients send it, checked at the door (https://vercel.com/docs/sandbox/concepts/firewall)."""

import re
from typing import Annotated
from urllib.parse import urlsplit

from pydantic import AfterValidator, BaseModel, Field, SecretStr, model_validator

from bot.engine.body import LENIENT
from bot.engine.policy import Mode, NetworkPolicy, parse_subnet
from bot.engine.rules import CannedResponse, DomainRules, Kind, Match, Matcher, PairMatcher, Rule, is_pattern

_MOST_RULES = 100
_SET_BY_THE_PROXY = frozenset({"connection", "content-length", "transfer-encoding", "upgrade", "keep-alive", "te"})
_BODILESS = frozenset({204, 205, 304})

HeaderName = Annotated[str, Field(pattern=r"^[!#$%&'*+.^_`|~0-9A-Za-z-]+$")]
_HEADER_VALUE = re.compile(r"(?:[!-~](?:[\t -~]*[!-~])?)?")


def _is_header_value(value: str) -> str:
    if not _HEADER_VALUE.fullmatch(value):
        raise ValueError("not the value of a header")
    return value


def _hides_header_value(value: SecretStr) -> SecretStr:
    _is_header_value(value.get_secret_value())
    return value


HeaderValue = Annotated[str, AfterValidator(_is_header_value)]
SecretValue = Annotated[SecretStr, AfterValidator(_hides_header_value)]


class Body(BaseModel):
    model_config = LENIENT


class Subnets(Body):
    allow: list[str] = []
    deny: list[str] = []


class MatcherBody(Body):
    exact: str | None = None
    starts_with: str | None = None
    regex: Annotated[str, Field(max_length=1000)] | None = None

    @model_validator(mode="after")
    def is_one(self) -> "MatcherBody":
        if sum(value is not None for value in (self.exact, self.starts_with, self.regex)) != 1:
            raise ValueError("a matcher is one of exact, startsWith and regex")
        if self.regex is not None and not is_pattern(self.regex):
            raise ValueError("regex is not an RE2 pattern")
        return self

    def parse(self, *, lower: bool = False) -> Matcher:
        given = {Kind.EXACT: self.exact, Kind.STARTS_WITH: self.starts_with, Kind.REGEX: self.regex}
        kind, value = next((kind, value) for kind, value in given.items() if value is not None)
        return Matcher(kind, value.lower() if lower and kind is not Kind.REGEX else value)


class PairBody(Body):
    key: MatcherBody | None = None
    value: MatcherBody | None = None

    @model_validator(mode="after")
    def is_something(self) -> "PairBody":
        if self.key is None and self.value is None:
            raise ValueError("a matcher for key or value is needed")
        return self

    def parse(self, *, lower: bool = False) -> PairMatcher:
        return PairMatcher(
            self.key.parse(lower=lower) if self.key else None, self.value.parse() if self.value else None
        )


class MatchBody(Body):
    path: MatcherBody | None = None
    method: list[str] = []
    query_string: list[PairBody] = []
    headers: list[PairBody] = []

    def parse(self) -> Match:
        return Match(
            path=self.path.parse() if self.path else None,
            methods=tuple(method.upper() for method in self.method),
            query=tuple(pair.parse() for pair in self.query_string),
            headers=tuple(pair.parse(lower=True) for pair in self.headers),
        )


class TransformBody(Body):
    headers: dict[HeaderName, SecretValue] = {}


class ResponseBody(Body):
    status_code: Annotated[int, Field(ge=200, le=599)]
    headers: dict[HeaderName, HeaderValue] = {}
    body: str | None = None
    content_type: HeaderValue | None = None

    @model_validator(mode="after")
    def can_be_sent(self) -> "ResponseBody":
        if self.body is not None and (self.content_type is None or self.status_code in _BODILESS):
            raise ValueError("a body needs a contentType, and a status that has one")
        if _SET_BY_THE_PROXY & {name.lower() for name in self.headers}:
            raise ValueError("headers about the connection are set by the proxy")
        return self

    def parse(self) -> CannedResponse:
        headers = tuple(self.headers.items())
        if self.content_type is not None:
            headers += (("content-type", self.content_type),)
        return CannedResponse(self.status_code, headers, self.body or "")


class RuleBody(Body):
    match: MatchBody | None = None
    transform: list[TransformBody] = []
    forward_url: str | None = Field(default=None, alias="forwardURL")
    response: ResponseBody | None = None

    @model_validator(mode="after")
    def does_one_thing(self) -> "RuleBody":
        if sum((bool(self.transform), self.forward_url is not None, self.response is not None)) != 1:
            raise ValueError("a rule is exactly one of transform, forwardURL and response")
        if self.forward_url is not None:
            url = urlsplit(self.forward_url)
            if url.scheme not in ("https", "http") or not url.hostname or url.query or url.fragment or url.username:
                raise ValueError("forwardURL is an http(s) URL without user, query and fragment")
        if _SET_BY_THE_PROXY & {name.lower() for each in self.transform for name in each.headers}:
            raise ValueError("headers about the connection are set by the proxy")
        return self

    def parse(self) -> Rule:
        headers = {name.lower(): value for each in self.transform for name, value in each.headers.items()}
        return Rule(
            match=self.match.parse() if self.match else None,
            headers=tuple((name, value.get_secret_value()) for name, value in headers.items()),
            forward_url=self.forward_url,
            response=self.response.parse() if self.response else None,
        )


class PolicyBody(Body):
    """Either a `mode`, or what a custom policy allows: domains, with or without rules, and subnets."""

    mode: Mode | None = None
    allow: dict[str, Annotated[list[RuleBody], Field(max_length=_MOST_RULES)]] | list[str] = {}
    subnets: Subnets = Subnets()

    @model_validator(mode="after")
    def is_a_policy(self) -> "PolicyBody":
        if self.mode in (None, Mode.CUSTOM) and not self.model_fields_set & {"allow", "subnets"}:
            raise ValueError("a policy needs a mode, or says what it allows")
        for subnet in (*self.subnets.allow, *self.subnets.deny):
            parse_subnet(subnet)
        return self

    def parse(self) -> NetworkPolicy:
        if self.mode in (Mode.ALLOW_ALL, Mode.DENY_ALL):
            return NetworkPolicy(self.mode)
        given = self.allow if isinstance(self.allow, dict) else {name: [] for name in self.allow}
        rules = {_domain(name): tuple(rule.parse() for rule in listed) for name, listed in given.items()}
        return NetworkPolicy(
            Mode.CUSTOM,
            tuple(rules),
            tuple(self.subnets.allow),
            tuple(self.subnets.deny),
            tuple(DomainRules(name, listed) for name, listed in rules.items() if listed),
        )


def _domain(name: str) -> str:
    return name.lower().rstrip(".")
