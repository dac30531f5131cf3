"""What a connection says first: TLS with a server name, HTTP, or something else; looked at and left where it is."""

import asyncio
import socket
import ssl
from dataclasses import dataclass
from enum import StrEnum

_LARGEST = 1 << 15  # a ClientHello with post-quantum keys has about 2 kB, a request line rarely more than 8
_TLS_HANDSHAKE = 0x16
_LINE_ENDS = b"\r\n"
_WORDS = frozenset(b"!#$%&'*+-.^_`|~0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ")


class Speech(StrEnum):
    TLS = "tls"
    HTTP = "http"
    OTHER = "other"


@dataclass(frozen=True, slots=True)
class Greeting:
    """`server_name` is the one that a TLS client asks for, in lower case; none if it asks for none."""

    speech: Speech
    server_name: str | None = None

    def agrees_with(self, name: str) -> bool:
        """Whether all that will be said is for `name`: later requests of HTTP could be for anybody."""
        return self.speech is Speech.OTHER or (self.speech is Speech.TLS and self.server_name == name)


async def glance(client: socket.socket, server: socket.socket) -> Greeting | None:
    """What can be told as soon as one of them has spoken; nothing if that is too little."""
    if await _first_readable(client, server) is server:
        return Greeting(Speech.OTHER)
    return judge(client.recv(_LARGEST, socket.MSG_PEEK))


async def hear(client: socket.socket, server: socket.socket | None = None) -> Greeting:
    """Wait for the client's first words without taking them; a `server` that speaks first makes it `OTHER`.

    Raises `OSError` when the client leaves or goes on without ever making sense.
    """
    seen = 0
    try:
        while True:
            client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVLOWAT, seen + 1)  # wake up for more than we have seen
            if await _first_readable(client, server) is server is not None:
                return Greeting(Speech.OTHER)
            data = client.recv(_LARGEST, socket.MSG_PEEK)
            greeting = judge(data)
            if greeting is not None:
                return greeting
            if len(data) in (seen, _LARGEST):
                raise ConnectionAbortedError("the connection's beginning cannot be understood")
            seen = len(data)
    finally:
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVLOWAT, 1)


def judge(data: bytes) -> Greeting | None:
    """What the first bytes are the beginning of; nothing if more are needed.

    Whatever a server could take for an HTTP request counts as one: the strict parser comes later. Text that may still
    become a request line is not decided before the line's end, however long that takes.
    """
    if data[:1] == bytes([_TLS_HANDSHAKE]):
        return _judge_tls(data)
    text = data.lstrip(_LINE_ENDS)
    if not text:
        return None
    line, ended, _ = text.partition(b"\n")
    if b"HTTP/" in line.upper():
        return Greeting(Speech.HTTP)
    if ended or line[0] not in _WORDS:
        return Greeting(Speech.OTHER)
    return None if all(byte >= 0x20 or byte in b"\t\r" for byte in line) else Greeting(Speech.OTHER)


def _judge_tls(data: bytes) -> Greeting | None:
    """OpenSSL reads the ClientHello, and is stopped where it would have to answer."""
    names: list[str | None] = []

    def see(_: ssl.SSLObject | ssl.SSLSocket, name: str | None, __: ssl.SSLContext) -> int:
        names.append(name)
        return ssl.ALERT_DESCRIPTION_UNRECOGNIZED_NAME

    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.sni_callback = see
    incoming = ssl.MemoryBIO()
    incoming.write(data)
    try:
        context.wrap_bio(incoming, ssl.MemoryBIO(), server_side=True).do_handshake()
    except ssl.SSLWantReadError:
        return None
    except ssl.SSLError:  # our refusal, or what claimed to be TLS is none
        pass
    return Greeting(Speech.TLS, names[0].lower() if names and names[0] else None)


async def _first_readable(client: socket.socket, server: socket.socket | None) -> socket.socket:
    loop, ready = asyncio.get_running_loop(), asyncio.get_running_loop().create_future()

    def tell(one: socket.socket) -> None:
        if not ready.done():
            ready.set_result(one)

    watched = [one for one in (server, client) if one is not None]
    for one in watched:
        loop.add_reader(one, tell, one)
    try:
        found: socket.socket = await ready
    finally:
        for one in watched:
            loop.remove_reader(one)
    return found
