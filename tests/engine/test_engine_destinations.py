"""Where names lead, when answers change and when only a proxy knows."""

import asyncio
import base64
import socket
from contextlib import asynccontextmanager
from ipaddress import ip_address

import pytest

from bot.engine.destinations import Destination, Destinations, Gateway
from bot.engine.outside import EgressProxy
from bot.engine.policy import Mode, NetworkPolicy

EVERYTHING = NetworkPolicy(Mode.ALLOW_ALL)
PUBLIC = ip_address("203.0.113.9")


def unknown(_: str) -> list:
    raise socket.gaierror


async def test_a_name_that_turns_to_the_host_after_it_was_allowed_leads_nowhere() -> None:
    answers = iter([[PUBLIC], [ip_address("127.0.0.1")], [ip_address("10.0.0.1"), PUBLIC]])
    destinations = Destinations(Gateway(look_up=lambda _: next(answers)))
    assert await destinations.of("rebinding.example", "", EVERYTHING) == [Destination("rebinding.example", PUBLIC)]
    assert await destinations.of("rebinding.example", "198.18.0.1", EVERYTHING) == []
    assert await destinations.of("rebinding.example", "198.18.0.1", EVERYTHING) == [
        Destination("rebinding.example", PUBLIC)
    ]


@pytest.mark.parametrize(
    ("name", "policy", "known"),
    [
        ("api.example", EVERYTHING, True),
        ("api.example", NetworkPolicy(Mode.CUSTOM, ("api.example",)), True),
        ("api.example", NetworkPolicy(Mode.CUSTOM, ("*",), (), ("0.0.0.0/0",)), True),
        ("api.example", NetworkPolicy(Mode.CUSTOM, (), ("203.0.113.0/24",)), False),
        ("api.example", NetworkPolicy(Mode.DENY_ALL), False),
        ("localhost", EVERYTHING, False),
        ("db.internal", EVERYTHING, False),
        ("printer", EVERYTHING, False),
    ],
)
async def test_what_only_a_proxy_can_look_up_is_allowed_by_its_name(
    name: str, policy: NetworkPolicy, known: bool
) -> None:
    destinations = Destinations(Gateway(proxy=EgressProxy("proxy", 1), look_up=unknown))
    assert await destinations.of(name, "", policy) == ([Destination(name, None)] if known else [])
    assert await Destinations(Gateway(look_up=unknown)).of(name, "", policy) == []


@pytest.mark.parametrize(
    ("url", "proxy"),
    [
        ("http://proxy:3128", EgressProxy("proxy", 3128)),
        ("http://proxy/", EgressProxy("proxy", 80)),
        ("http://u%40x:p%3a@[::1]:8080", EgressProxy("::1", 8080, "u@x:p:")),
    ],
)
def test_a_proxy_is_read_from_its_url(url: str, proxy: EgressProxy) -> None:
    assert EgressProxy.parse(url) == proxy
    assert "p:" not in repr(proxy).replace("http:", "")


@pytest.mark.parametrize("url", ["https://proxy", "proxy:3128", "http://", "http://proxy/path", "socks5://proxy"])
def test_what_is_no_proxy_is_refused(url: str) -> None:
    with pytest.raises(ValueError, match="a proxy is given as"):
        EgressProxy.parse(url)


@asynccontextmanager
async def answering(words: bytes):
    """A proxy that says `words` to whatever it is asked, and what it was asked."""
    asked: list[bytes] = []

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        asked.append(await reader.readuntil(b"\r\n\r\n"))
        writer.write(words)
        writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    async with server:
        yield EgressProxy("127.0.0.1", server.sockets[0].getsockname()[1], "user:secret"), asked


async def test_a_tunnel_begins_right_behind_the_proxy_s_answer() -> None:
    async with answering(b"HTTP/1.1 200 Connection established\r\nVia: x\r\n\r\n220 hello") as (proxy, asked):
        connection = await proxy.connect("api.example", 443)
        with connection:
            assert await asyncio.get_running_loop().sock_recv(connection, 100) == b"220 hello"
    shown = base64.b64encode(b"user:secret").decode()
    assert [one.decode().split("\r\n")[:3] for one in asked] == [
        ["CONNECT api.example:443 HTTP/1.1", "host: api.example:443", f"proxy-authorization: Basic {shown}"]
    ]


@pytest.mark.parametrize("words", [b"HTTP/1.1 403 Forbidden\r\n\r\n", b"garbage\r\n\r\n", b""])
async def test_a_proxy_that_does_not_open_a_tunnel_is_a_refusal(words: bytes) -> None:
    async with answering(words) as (proxy, _):
        with pytest.raises(ConnectionRefusedError):
            await proxy.connect("api.example", 443)
