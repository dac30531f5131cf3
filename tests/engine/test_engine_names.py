"""DNS in a sandbox, and the addresses that no name may lead to."""

import asyncio
import socket
import struct
from collections.abc import Iterable
from contextlib import asynccontextmanager
from ipaddress import ip_address

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bot.engine import addresses, dns
from bot.engine.destinations import Gateway
from bot.engine.egress import Egress
from bot.engine.policy import Mode, NetworkPolicy

REFUSED, NAME_ERROR, NO_ERROR = 5, 3, 0


def query(name: str, kind: int = dns.A) -> bytes:
    labels = b"".join(bytes([len(label)]) + label.encode() for label in name.split("."))
    return b"\x12\x34\x01\x00\x00\x01\x00\x00\x00\x00\x00\x00" + labels + b"\0" + struct.pack(">HH", kind, 1)


async def ask(policy: NetworkPolicy, packet: bytes, found: Iterable[str] | None = ("203.0.113.9",)) -> tuple[int, str]:
    """The answer's code and its address, from an egress that looks names up in `found`."""

    def look_up(name: str) -> list:
        if found is None:
            raise socket.gaierror
        return [addresses.parse(text) for text in found]

    async with egress(policy, look_up) as server:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as client:
            client.settimeout(0)
            await asyncio.get_running_loop().sock_sendto(client, packet, server)
            async with asyncio.timeout(10):
                answer = await asyncio.get_running_loop().sock_recv(client, 1500)
    assert answer[:2] == packet[:2]
    records = struct.unpack(">H", answer[6:8])[0]
    return answer[3] & 0xF, socket.inet_ntoa(answer[-4:]) if records else ""


@asynccontextmanager
async def egress(policy: NetworkPolicy, look_up):
    names = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    names.bind(("127.0.0.1", 0))
    one = Egress(
        names, [socket.create_server(("127.0.0.1", 0))], policy, redirected=False, gateway=Gateway(look_up=look_up)
    )
    try:
        yield names.getsockname()
    finally:
        await one.close()


ALLOW_ALL, DENY_ALL = NetworkPolicy(Mode.ALLOW_ALL), NetworkPolicy(Mode.DENY_ALL)


async def test_an_allowed_name_gets_a_made_up_address() -> None:
    code, address = await ask(ALLOW_ALL, query("Example.COM"))
    assert (code, address) == (NO_ERROR, "198.18.0.1")


async def test_a_denied_name_is_refused_without_being_looked_up() -> None:
    assert await ask(DENY_ALL, query("example.com"), found=None) == (REFUSED, "")


async def test_a_name_that_nobody_knows_does_not_exist() -> None:
    assert await ask(ALLOW_ALL, query("example.com"), found=None) == (NAME_ERROR, "")


@pytest.mark.parametrize("address", ["127.0.0.1", "10.0.0.1", "169.254.169.254", "::1", "::ffff:127.0.0.1", "fd00::1"])
async def test_a_name_that_leads_to_a_refused_address_does_not_exist(address: str) -> None:
    assert await ask(ALLOW_ALL, query("rebound.example"), found=[address]) == (NAME_ERROR, "")


async def test_a_denied_subnet_counts_after_the_name_is_resolved() -> None:
    policy = NetworkPolicy(Mode.CUSTOM, ("example.com",), (), ("203.0.113.0/24",))
    assert await ask(policy, query("example.com")) == (NAME_ERROR, "")


async def test_other_records_of_an_allowed_name_are_empty() -> None:
    assert await ask(ALLOW_ALL, query("example.com", kind=28)) == (NO_ERROR, "")


@settings(deadline=None)
@given(st.binary(max_size=600))
def test_no_packet_breaks_the_parser(packet: bytes) -> None:
    question = dns.parse(packet)
    if question is not None:
        assert dns.name_error(question).endswith(question.raw)


@settings(deadline=None)
@given(st.binary(max_size=80))
def test_no_packet_that_looks_like_a_question_breaks_the_parser(rest: bytes) -> None:
    dns.parse(b"\x12\x34\x01\x00\x00\x01\x00\x00\x00\x00\x00\x00" + rest)


def test_made_up_addresses_are_stable_and_bounded() -> None:
    book = dns.SyntheticNames()
    first = book.address_of("first.example")
    for number in range(20_000):
        book.address_of(f"{number}.example")
        book.address_of("first.example")
    assert book.address_of("first.example") == first
    assert book.name_of(first) == "first.example"
    assert len(book._addresses) == 16_384
    assert book.name_of(book.address_of("19999.example")) == "19999.example"


@pytest.mark.parametrize(
    "text",
    [
        *("127.0.0.1", "10.1.2.3", "172.16.0.1", "192.168.1.1", "169.254.169.254", "100.64.0.1", "224.0.0.1"),
        *("0.0.0.0", "255.255.255.255", "198.18.0.1", "::", "::1", "fe80::1", "fd00:ec2::254", "ff02::1"),
        *("::ffff:169.254.169.254", "64:ff9b::a9fe:a9fe", "2002:7f00:1::"),
    ],
)
def test_addresses_that_are_refused(text: str) -> None:
    assert addresses.is_refused(addresses.parse(text))


@pytest.mark.parametrize("text", ["203.0.113.80", "8.8.8.8", "2001:db8::1", "2606:4700::1111"])
def test_addresses_of_the_world_are_not(text: str) -> None:
    assert not addresses.is_refused(addresses.parse(text))


def test_an_address_of_this_host_is_its_own() -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("203.0.113.1", 9))
        except OSError:
            pytest.skip("this machine has no network")
        own = ip_address(probe.getsockname()[0])
    assert addresses.is_own(own)
