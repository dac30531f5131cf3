"""One end of a connection that speaks HTTP/1.1: h11's state machine and the way its bytes take."""

import asyncio
import socket
import ssl
from contextlib import suppress

import h11

_CHUNK = 1 << 16
_LARGEST_HEAD = 1 << 16
_HANDSHAKE_LIMIT = 15.0
_CLOSING_LIMIT = 5.0


class HttpStream:
    """Make with `accept` or `dial`; it owns the socket that it was made of."""

    def __init__(
        self, role: type[h11.CLIENT] | type[h11.SERVER], reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        self.http = h11.Connection(role, max_incomplete_event_size=_LARGEST_HEAD)
        self._reader, self._writer = reader, writer

    @classmethod
    async def accept(cls, connection: socket.socket, context: ssl.SSLContext | None) -> "HttpStream":
        """The server's end, with TLS if there is a context. Raises `OSError` when the handshake fails."""
        loop, reader = asyncio.get_running_loop(), asyncio.StreamReader(_CHUNK)
        protocol = asyncio.StreamReaderProtocol(reader)
        transport, _ = await loop.connect_accepted_socket(
            lambda: protocol, connection, ssl=context, ssl_handshake_timeout=_HANDSHAKE_LIMIT if context else None
        )
        return cls(h11.SERVER, reader, asyncio.StreamWriter(transport, protocol, reader, loop))

    @classmethod
    async def dial(cls, connection: socket.socket, context: ssl.SSLContext | None, name: str) -> "HttpStream":
        """The client's end of a connected socket. Raises `OSError` when `name` cannot prove that it is `name`."""
        reader, writer = await asyncio.open_connection(
            sock=connection,
            limit=_CHUNK,
            ssl=context,
            server_hostname=name if context else None,
            ssl_handshake_timeout=_HANDSHAKE_LIMIT if context else None,
        )
        return cls(h11.CLIENT, reader, writer)

    async def receive(self) -> h11.Event | type[h11.NEED_DATA] | type[h11.PAUSED]:
        """The next event, never `NEED_DATA`. Raises `h11.RemoteProtocolError` for what is not HTTP."""
        while (event := self.http.next_event()) is h11.NEED_DATA:
            self.http.receive_data(await self._reader.read(_CHUNK))
        return event

    async def send(self, event: h11.Event) -> None:
        """Raises `h11.LocalProtocolError` for what cannot be said now, and `OSError` when nobody listens any more."""
        if data := self.http.send(event):
            await self.write(data)

    async def write(self, data: bytes) -> None:
        self._writer.write(data)
        await self._writer.drain()

    @property
    def is_over(self) -> bool:
        """Whether the other end has closed or broken, and all that it said was read."""
        return self._reader.at_eof() or self._reader.exception() is not None

    @property
    def early(self) -> bytes:
        """What came behind the last HTTP message, once the connection speaks something else."""
        return self.http.trailing_data[0]

    async def read(self) -> bytes:
        """Raw bytes; empty at the end."""
        return await self._reader.read(_CHUNK)

    def end(self) -> None:
        """Say that no more bytes come, as far as the transport can."""
        if self._writer.can_write_eof():
            self._writer.write_eof()

    async def close(self) -> None:
        self._writer.close()
        with suppress(OSError, TimeoutError):
            async with asyncio.timeout(_CLOSING_LIMIT):
                await self._writer.wait_closed()

    def abort(self) -> None:
        """End without saying goodbye: what was sent so far is not all there was."""
        self._writer.transport.abort()
