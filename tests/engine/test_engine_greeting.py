"""What the first bytes of a connection are taken for."""

import asyncio
import socket
import ssl

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bot.engine.greeting import Greeting, Speech, hear, judge

HTTP, OTHER = Greeting(Speech.HTTP), Greeting(Speech.OTHER)


def client_hello(name: str | None) -> bytes:
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    out = ssl.MemoryBIO()
    with pytest.raises(ssl.SSLWantReadError):
        context.wrap_bio(ssl.MemoryBIO(), out, server_hostname=name).do_handshake()
    return out.read()


@pytest.mark.parametrize("name", ["api.example.com", "API.Example.COM", None])
def test_the_name_in_a_client_hello_is_found_once_the_hello_is_whole(name: str | None) -> None:
    hello = client_hello(name)
    assert judge(hello[:-1]) is None
    assert judge(hello[:5]) is None
    assert judge(hello) == Greeting(Speech.TLS, name.lower() if name else None)


def test_what_only_begins_like_tls_asks_for_no_name() -> None:
    assert judge(b"\x16\x03\x01\x00\x05hello") == Greeting(Speech.TLS, None)


@pytest.mark.parametrize(
    ("data", "greeting"),
    [
        (b"GET / HTTP/1.1\r\n", HTTP),
        (b"get / http/1.1\n", HTTP),
        (b"\r\n\r\nGET / HTTP/1.1\r\n", HTTP),
        (b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", HTTP),
        (b"\xffGET / HTTP/1.1\r\n", HTTP),
        (b"GET / HT", None),
        (b"\r\n", None),
        (b"", None),
        (b"SSH-2.0-OpenSSH_9.6\r\n", OTHER),
        (b"PING\r\n", OTHER),
        (b"*1\r\n$4\r\nPING\r\n", OTHER),
        (b"\x00\x00\x00\x08\x04\xd2\x16/", OTHER),
        (b"abc\x00", OTHER),
    ],
)
def test_words_that_a_server_could_take_for_a_request_are_http(data: bytes, greeting: Greeting | None) -> None:
    assert judge(data) == greeting


@settings(deadline=None)
@given(st.binary(max_size=400))
def test_no_bytes_are_too_strange_to_be_judged(data: bytes) -> None:
    assert judge(data) is None or isinstance(judge(data), Greeting)


@pytest.fixture
def pair():
    listener = socket.create_server(("127.0.0.1", 0))
    theirs = socket.create_connection(listener.getsockname())
    ours, _ = listener.accept()
    for one in (ours, theirs):
        one.settimeout(0)
    yield ours, theirs
    for one in (listener, ours, theirs):
        one.close()


async def test_words_that_come_in_pieces_are_waited_for_and_left_where_they_are(pair) -> None:
    ours, theirs = pair
    hearing = asyncio.create_task(hear(ours))
    for piece in (b"GET / HT", b"TP/1.1\r\n", b"Host: x\r\n"):
        theirs.send(piece)
    async with asyncio.timeout(20):
        assert await hearing == HTTP
    assert ours.recv(8) == b"GET / HT"


async def test_a_client_that_leaves_before_it_made_sense_is_no_greeting(pair) -> None:
    ours, theirs = pair
    theirs.send(b"GET")
    theirs.shutdown(socket.SHUT_WR)
    async with asyncio.timeout(20):
        with pytest.raises(ConnectionAbortedError):
            await hear(ours)


async def test_a_server_that_speaks_first_ends_the_waiting(pair) -> None:
    ours, _ = pair
    near, far = socket.socketpair()
    with near, far:
        far.send(b"220 mail ready\r\n")
        async with asyncio.timeout(20):
            assert await hear(ours, near) == OTHER
