"""How connections leave this host: straight, or through the HTTP proxy that a closed network has."""

import asyncio
import base64
import socket
from dataclasses import dataclass, field
from urllib.parse import unquote, urlsplit

import h11

from bot.engine.policy import Address


@dataclass(frozen=True, slots=True)
class EgressProxy:
    """An HTTP proxy that opens tunnels by `CONNECT` (RFC 9110, section 9.3.6)."""

    host: str
    port: int
    credentials: str | None = field(default=None, repr=False)

    @classmethod
    def parse(cls, url: str) -> "EgressProxy":
        """Read `http://[user:password@]host[:port]`. Raises `ValueError` for anything else."""
        parts = urlsplit(url)
        if parts.scheme != "http" or not parts.hostname or parts.path not in ("", "/") or parts.query:
            raise ValueError("a proxy is given as http://[user:password@]host[:port]")
        credentials = f"{unquote(parts.username)}:{unquote(parts.password or '')}" if parts.username else None
        return cls(parts.hostname, parts.port or 80, credentials)

    async def connect(self, host: str, port: int) -> socket.socket:
        """A tunnel to `host`, which the proxy looks up. Raises `OSError` when the proxy refuses."""
        connection = await connect_by_name(self.host, self.port)
        try:
            await self._ask(connection, f"[{host}]:{port}" if ":" in host else f"{host}:{port}")
        except h11.RemoteProtocolError as error:
            connection.close()
            raise ConnectionRefusedError("the proxy does not speak HTTP") from error
        except BaseException:
            connection.close()
            raise
        return connection

    async def _ask(self, connection: socket.socket, place: str) -> None:
        loop, http = asyncio.get_running_loop(), h11.Connection(h11.CLIENT)
        headers = [("host", place)]
        if self.credentials is not None:
            shown = base64.b64encode(self.credentials.encode()).decode()
            headers.append(("proxy-authorization", f"Basic {shown}"))
        asked = http.send(h11.Request(method="CONNECT", target=place, headers=headers))
        ended = http.send(h11.EndOfMessage())
        await loop.sock_sendall(connection, (asked or b"") + (ended or b""))
        while (event := http.next_event()) is h11.NEED_DATA:
            # A byte at a time: what follows the answer is the tunnel's, and not ours to take.
            http.receive_data(await loop.sock_recv(connection, 1))
        if not isinstance(event, h11.Response) or not 200 <= event.status_code < 300:
            status = getattr(event, "status_code", "no answer")
            raise ConnectionRefusedError(f"the proxy does not connect to {place}: {status}")


async def connect(address: Address, port: int) -> socket.socket:
    """Raises `OSError`."""
    connection = socket.socket(socket.AF_INET if address.version == 4 else socket.AF_INET6)
    connection.settimeout(0)
    try:
        await asyncio.get_running_loop().sock_connect(connection, (str(address), port))
    except BaseException:
        connection.close()
        raise
    return connection


async def connect_by_name(host: str, port: int) -> socket.socket:
    """Connect to a place that the operator or a client of the API named: no sandbox has a say in it."""
    loop = asyncio.get_running_loop()
    failure: OSError = ConnectionRefusedError(f"{host} has no address")
    for family, kind, protocol, _, address in await loop.getaddrinfo(host, port, type=socket.SOCK_STREAM):
        connection = socket.socket(family, kind, protocol)
        connection.settimeout(0)
        try:
            await loop.sock_connect(connection, address)
        except OSError as error:
            connection.close()
            failure = error
        except BaseException:
            connection.close()
            raise
        else:
            return connection
    raise failure
