"""Which names and addresses a sandbox may reach: the Sandbox API's network policy, decided."""

from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_network

from bot.engine.rules import DomainRules, Rule

Address = IPv4Address | IPv6Address
Network = IPv4Network | IPv6Network


class Mode(StrEnum):
    ALLOW_ALL = "allow-all"
    DENY_ALL = "deny-all"
    CUSTOM = "custom"


@dataclass(frozen=True, slots=True)
class NetworkPolicy:
    """In custom mode `domains` (exact, `*.suffix`, or `*` for all) or the subnets `allow`; `deny` beats both.

    A suffix stands for names below it at any depth, and not for itself.
    """

    mode: Mode = Mode.ALLOW_ALL
    domains: tuple[str, ...] = ()
    allow: tuple[str, ...] = ()
    deny: tuple[str, ...] = ()
    rules: tuple[DomainRules, ...] = ()

    def may_resolve(self, name: str) -> bool:
        """Whether a name may be looked up. With an allowed subnet any may: only its address can tell."""
        return self.permits_name(name) or (self.mode is Mode.CUSTOM and bool(self.allow))

    def permits_name(self, name: str) -> bool:
        if self.mode is not Mode.CUSTOM:
            return self.mode is Mode.ALLOW_ALL
        return any(_matches(pattern, name) for pattern in self.domains)

    def permits(self, name: str | None, address: Address | None) -> bool:
        """Whether a connection to `address` is allowed, reached as `name` or, with none, by the address itself.

        Without an address, which only a proxy knows, the name alone decides.
        """
        if self.mode is not Mode.CUSTOM:
            return self.mode is Mode.ALLOW_ALL
        if _within(address, self.deny):
            return False
        return self.permits_by_name(name) or _within(address, self.allow)

    def permits_by_name(self, name: str | None) -> bool:
        """Whether it is the name, or that all traffic is allowed, that lets a connection through.

        Rules for all traffic need to know whose it is: then nothing is reached by its address alone.
        """
        return self.permits_name(name) if name is not None else "*" in self.domains and not self._rules_of("*")

    def checks(self, name: str) -> bool:
        """Whether what a connection says about whom it wants has to agree with the name that it was made for."""
        return self.mode is Mode.CUSTOM and self.permits_name(name)

    def rules_for(self, name: str) -> tuple[Rule, ...]:
        """The rules of the most exact of the domains that stand for a name."""
        best = max((pattern for pattern in self.domains if _matches(pattern, name)), key=_exactness, default="")
        return self._rules_of(best)

    def _rules_of(self, domain: str) -> tuple[Rule, ...]:
        return next((each.rules for each in self.rules if each.domain == domain), ())


def _matches(pattern: str, name: str) -> bool:
    if pattern == "*":
        return True
    if pattern.startswith("*."):
        return name.endswith(pattern[1:])
    return name == pattern


def _exactness(pattern: str) -> tuple[bool, int]:
    return not pattern.startswith("*"), len(pattern)


def _within(address: Address | None, subnets: tuple[str, ...]) -> bool:
    return address is not None and any(address in parse_subnet(subnet) for subnet in subnets)


@lru_cache(maxsize=1024)
def parse_subnet(text: str) -> Network:
    """Raises `ValueError` for anything but an address range in CIDR notation."""
    return ip_network(text, strict=False)
