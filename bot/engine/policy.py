"""Which names and addresses a sandbox may reach: the Sandbox API's network policy, decided."""

from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_network

Address = IPv4Address | IPv6Address
Network = IPv4Network | IPv6Network


class Mode(StrEnum):
    ALLOW_ALL = "allow-all"
    DENY_ALL = "deny-all"
    CUSTOM = "custom"


@dataclass(frozen=True, slots=True)
class NetworkPolicy:
    """In custom mode `domains` (exact, `*.suffix`, or `*` for all) or the subnets `allow`; `deny` beats both."""

    mode: Mode = Mode.ALLOW_ALL
    domains: tuple[str, ...] = ()
    allow: tuple[str, ...] = ()
    deny: tuple[str, ...] = ()

    def may_resolve(self, name: str) -> bool:
        """Whether a name may be looked up. With an allowed subnet any may: only its address can tell."""
        return self.permits_name(name) or (self.mode is Mode.CUSTOM and bool(self.allow))

    def permits_name(self, name: str) -> bool:
        if self.mode is not Mode.CUSTOM:
            return self.mode is Mode.ALLOW_ALL
        return any(_matches(pattern, name) for pattern in self.domains)

    def permits(self, name: str | None, address: Address) -> bool:
        """Whether a connection to `address` is allowed, reached as `name` or, with none, by the address itself."""
        if self.mode is not Mode.CUSTOM:
            return self.mode is Mode.ALLOW_ALL
        if _within(address, self.deny):
            return False
        by_name = "*" in self.domains if name is None else self.permits_name(name)
        return by_name or _within(address, self.allow)


def _matches(pattern: str, name: str) -> bool:
    if pattern == "*":
        return True
    if pattern.startswith("*."):
        return name.endswith(pattern[1:])
    return name == pattern


def _within(address: Address, subnets: tuple[str, ...]) -> bool:
    return any(address in parse_subnet(subnet) for subnet in subnets)


@lru_cache(maxsize=1024)
def parse_subnet(text: str) -> Network:
    """Raises `ValueError` for anything but an address range in CIDR notation."""
    return ip_network(text, strict=False)
