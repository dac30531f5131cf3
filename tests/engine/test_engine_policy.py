"""The network policy as a decision, and as the API's two forms of it."""

from ipaddress import ip_address

import pytest
from pydantic import ValidationError

from bot.engine.api.answers import policy_json
from bot.engine.policy import Mode, NetworkPolicy
from bot.engine.policy_body import PolicyBody

SOMEWHERE = ip_address("203.0.113.7")


def custom(*domains: str, allow: tuple[str, ...] = (), deny: tuple[str, ...] = ()) -> NetworkPolicy:
    return NetworkPolicy(Mode.CUSTOM, domains, allow, deny)


@pytest.mark.parametrize(
    ("policy", "name", "allowed"),
    [
        (NetworkPolicy(Mode.ALLOW_ALL), "example.com", True),
        (NetworkPolicy(Mode.ALLOW_ALL), None, True),
        (NetworkPolicy(Mode.DENY_ALL), "example.com", False),
        (custom("example.com"), "example.com", True),
        (custom("example.com"), "www.example.com", False),
        (custom("example.com"), "badexample.com", False),
        (custom("*.example.com"), "www.example.com", True),
        (custom("*.example.com"), "a.b.example.com", True),
        (custom("*.example.com"), "example.com", False),
        (custom("*.example.com"), "badexample.com", False),
        (custom("example.com"), None, False),
        (custom("*"), "anything.at.all", True),
        (custom("*"), None, True),
        (custom(), "example.com", False),
        (custom("*", deny=("203.0.113.0/24",)), "example.com", False),
        (custom(allow=("203.0.113.0/24",)), "example.com", True),
        (custom(allow=("203.0.113.0/24",)), None, True),
        (custom(allow=("198.51.100.0/24",)), None, False),
        (custom(allow=("203.0.113.0/24",), deny=("203.0.113.7/32",)), None, False),
    ],
)
def test_who_may_connect(policy: NetworkPolicy, name: str | None, allowed: bool) -> None:
    assert policy.permits(name, SOMEWHERE) is allowed


def test_the_most_exact_domain_s_rules_are_the_ones_that_count() -> None:
    body = {
        "*": [{"response": {"statusCode": 401}}],
        "*.b.c": [{"response": {"statusCode": 402}}],
        "*.a.b.c": [{"response": {"statusCode": 403}}],
        "x.a.b.c": [],
    }
    policy = PolicyBody.model_validate({"allow": body}).parse()
    found = {
        name: [rule.response.status for rule in policy.rules_for(name)]
        for name in ("x.a.b.c", "y.a.b.c", "b.b.c", "b.c", "else")
    }
    assert found == {"x.a.b.c": [], "y.a.b.c": [403], "b.b.c": [402], "b.c": [401], "else": [401]}
    assert not policy.permits(None, SOMEWHERE), "whose traffic it is cannot be told from an address"


def test_with_an_allowed_subnet_any_name_may_be_looked_up() -> None:
    assert custom(allow=("203.0.113.0/24",)).may_resolve("example.com")
    assert not custom("example.org").may_resolve("example.com")


def test_the_request_form_is_read_and_the_readback_form_written() -> None:
    body = PolicyBody.model_validate({"allow": {"Example.COM.": [], "*.b.c": []}, "subnets": {"deny": ["10.0.0.0/8"]}})
    assert policy_json(body.parse()) == {
        "mode": "custom",
        "allowedDomains": ["example.com", "*.b.c"],
        "deniedCIDRs": ["10.0.0.0/8"],
    }
    assert policy_json(PolicyBody.model_validate({"allow": ["a.b"]}).parse())["allowedDomains"] == ["a.b"]
    assert policy_json(PolicyBody.model_validate({"mode": "deny-all"}).parse()) == {"mode": "deny-all"}


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"mode": "some"},
        {"allow": {}, "subnets": {"allow": ["everything"]}},
    ],
)
def test_what_cannot_be_kept_is_refused(body: dict) -> None:
    with pytest.raises(ValidationError):
        PolicyBody.model_validate(body)
