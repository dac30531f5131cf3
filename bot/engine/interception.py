"""A connection that is held to the name it was made for: what it says has to agree, and the name's rules apply."""

import socket
import ssl
from collections.abc import Awaitable, Callable
from functools import cache
from urllib.parse import urlsplit

import h11

from bot.engine.authority import Authority
from bot.engine.exchange import Exchange, Site
from bot.engine.greeting import Greeting, Speech, hear
from bot.engine.http_stream import HttpStream
from bot.engine.outside import connect_by_name
from bot.engine.pump import close_with_reset, pump
from bot.engine.rules import Rule

Connect = Callable[[], Awaitable[socket.socket]]


class Misdirected(ConnectionAbortedError):
    """A connection asked for another host than the one that it was made for."""


class Interception:
    """`connect` opens a connection to the host itself, as often as it is needed; `first` is one that is there already.

    Without rules TLS stays closed to us. With rules HTTP/1.1 is all that passes: over TLS it is agreed on, and clients
    that speak HTTP/2 only are refused.
    """

    def __init__(
        self,
        authority: Authority | None,
        name: str,
        port: int,
        *,
        rules: tuple[Rule, ...],
        connect: Connect,
        first: socket.socket | None = None,
    ) -> None:
        self._authority, self._name, self._port = authority, name, port
        self._rules, self._connect = rules, connect
        self._first = first

    async def carry(self, inside: socket.socket) -> None:
        """Until both ends ended. Raises `OSError` otherwise: what came so far is not all there was."""
        try:
            if not self._rules and not self._first:
                self._first = await self._connect()  # a host may be one that speaks first
            greeting = await hear(inside, self._first)
            self._check(greeting)
            if greeting.speech is Speech.HTTP or self._rules:
                await self._exchange(inside, secure=greeting.speech is Speech.TLS)
            elif self._first:
                await pump(inside, self._first)
                self._first.close()
                self._first = None
        except (h11.ProtocolError, ssl.SSLError) as error:
            raise ConnectionAbortedError(str(error)) from error
        finally:
            if self._first:
                close_with_reset(self._first)

    def _check(self, greeting: Greeting) -> None:
        if greeting.speech is Speech.TLS and greeting.server_name != self._name:
            raise Misdirected(f"{self._name} was asked for as {greeting.server_name}")
        if greeting.speech is Speech.OTHER and self._rules:
            raise Misdirected(f"{self._name} has rules for HTTP and speaks something else")

    async def _exchange(self, inside: socket.socket, *, secure: bool) -> None:
        context = self._context() if secure else None
        client = await HttpStream.accept(socket.socket(fileno=inside.detach()), context)

        async def dial(forward: str | None) -> HttpStream:
            if forward is not None:
                return await _dial_forward(forward)
            return await HttpStream.dial(await self._take(), _verifying_context() if secure else None, self._name)

        try:
            await Exchange(client, Site(self._name, self._port, secure, self._rules), dial).carry()
            await client.close()
        finally:
            client.abort()

    def _context(self) -> ssl.SSLContext:
        if self._authority is None:
            raise Misdirected("there is no authority to speak for a host with")
        return self._authority.context_for(self._name)

    async def _take(self) -> socket.socket:
        """The connection that was made before the client spoke, or a new one."""
        first, self._first = self._first, None
        return first or await self._connect()


async def _dial_forward(url: str) -> HttpStream:
    parts = urlsplit(url)
    secure, host = parts.scheme == "https", parts.hostname or ""
    connection = await connect_by_name(host, parts.port or (443 if secure else 80))
    return await HttpStream.dial(connection, _verifying_context() if secure else None, host)


@cache
def _verifying_context() -> ssl.SSLContext:
    """What the host itself trusts, `SSL_CERT_FILE` included."""
    context = ssl.create_default_context()
    context.set_alpn_protocols(["http/1.1"])
    return context
