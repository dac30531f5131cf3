"""Where a name or an address leads to, as far as the policy and this host's own safety allow, and the connection there.

Behind a proxy a name that this host cannot look up is left to the proxy, by its name alone: unless it is one of a
private network, which a proxy might know as well.
"""

import asyncio
import socket
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from bot.engine import addresses, outside
from bot.engine.authority import Authority
from bot.engine.outside import EgressProxy
from bot.engine.policy import Address, NetworkPolicy

_CONNECT_LIMIT = 10.0
_MOST_LOOKUPS = 8
# Of our own: the event loop's is shared with file work, and a sandbox can ask for many slow names.
_RESOLVERS = ThreadPoolExecutor(max_workers=32, thread_name_prefix="resolve")
_PRIVATE_SUFFIXES = (".localhost", ".local", ".internal", ".lan", ".home.arpa", ".intranet", ".corp", ".home")

LookUp = Callable[[str], Iterable[Address]]


def look_up(name: str) -> Iterable[Address]:
    """Raises `OSError` for a name without addresses."""
    return [addresses.parse(str(info[4][0])) for info in socket.getaddrinfo(name, None, type=socket.SOCK_STREAM)]


@dataclass(frozen=True, slots=True)
class Gateway:
    """What the ways out of all sandboxes share. Without an authority no rules can be applied."""

    authority: Authority | None = None
    proxy: EgressProxy | None = None
    look_up: LookUp = look_up


@dataclass(frozen=True, slots=True)
class Destination:
    """`name` is none for what was reached by its address, `address` for what only the proxy can look up."""

    name: str | None
    address: Address | None

    def __str__(self) -> str:
        return f"{self.name or self.address}"


class Destinations:
    """Those of one sandbox, which may make only so many look-ups at a time."""

    def __init__(self, gateway: Gateway) -> None:
        self._gateway = gateway
        self._lookups = asyncio.Semaphore(_MOST_LOOKUPS)

    async def of(self, name: str | None, host: str, policy: NetworkPolicy) -> list[Destination]:
        """All that are allowed, IPv4 first. `host` is the address that was asked for, made up if there is a name."""
        known = [addresses.parse(host)] if name is None else await self._resolve(name)
        if not known and name is not None and self._proxy_may_know(name) and policy.permits(name, None):
            return [Destination(name, None)]
        return [
            Destination(name, address)
            for address in known
            if policy.permits(name, address) and not addresses.is_refused(address)
        ]

    async def connect(self, destination: Destination, port: int) -> socket.socket:
        """Raises `OSError` or `TimeoutError`."""
        async with asyncio.timeout(_CONNECT_LIMIT):
            if self._gateway.proxy:
                return await self._gateway.proxy.connect(str(destination), port)
            if destination.address is None:
                raise ConnectionRefusedError(f"{destination} has no address")
            return await outside.connect(destination.address, port)

    def _proxy_may_know(self, name: str) -> bool:
        return self._gateway.proxy is not None and "." in name and not name.endswith(_PRIVATE_SUFFIXES)

    async def _resolve(self, name: str) -> list[Address]:
        """Addresses of a name as the host sees them; none if it has none."""
        async with self._lookups:
            try:
                found = await asyncio.get_running_loop().run_in_executor(_RESOLVERS, self._gateway.look_up, name)
            except (OSError, UnicodeError):
                return []
        return sorted(set(found), key=lambda address: (address.version, int(address)))
