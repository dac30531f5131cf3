"""Asking a preview as a browser would."""

import asyncio
import gzip
import tracemalloc

import pytest
from websockets.asyncio.server import serve

from bot.probe import BODY_BYTES, NoAnswer, Probe, socket_opens
from bot.readiness import Answer
from bot.stage import free_port
from tests.owners.web import listening, saying


async def ask(url: str, path: str = "/", first_byte: float = 10) -> Answer:
    async with Probe(first_byte) as probe:
        return await probe.ask(url, path)


async def test_status_and_body_are_read():
    async with listening(saying("503 Busy", "später".encode())) as url:
        assert await ask(url) == Answer(503, "später")


async def test_a_redirect_is_an_answer_and_not_followed():
    async with listening(saying("302 Found", b"", "Location: http://127.0.0.1:1/")) as url:
        assert (await ask(url)).status == 302


async def test_the_path_is_asked_for_as_it_is_given():
    asked = []

    async def note(reader, writer):
        asked.append((await reader.readuntil(b"\r\n\r\n")).split()[1].decode())
        writer.write(b"HTTP/1.1 204 No Content\r\n\r\n")

    async with listening(note) as url:
        for path in ("/", "health", "/a/b?c=d"):
            await ask(url + "/", path)
    assert asked == ["/", "/health", "/a/b?c=d"]


async def test_only_the_beginning_of_an_endless_page_is_read():
    async def endless(reader, writer):
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
        while True:
            writer.write(b"1000\r\n" + b"x" * 0x1000 + b"\r\n")
            await writer.drain()

    async with listening(endless) as url:
        assert await ask(url) == Answer(200, "x" * BODY_BYTES)


async def hang(reader, writer):
    await asyncio.Event().wait()


async def hang_up(reader, writer):
    await reader.readuntil(b"\r\n\r\n")


async def babble(reader, writer):
    await reader.readuntil(b"\r\n\r\n")
    writer.write(b"SSH-2.0-OpenSSH_9.2\r\n\r\n")


@pytest.mark.parametrize("answer", [hang, hang_up, babble])
async def test_what_is_no_answer_is_said_to_be_none(answer):
    async with listening(answer) as url:
        with pytest.raises(NoAnswer):
            await ask(url, first_byte=0.2)


async def test_nobody_there_is_no_answer():
    with pytest.raises(NoAnswer, match="ConnectError"):
        await ask(f"http://127.0.0.1:{free_port()}")


async def until_closed(connection):
    await connection.wait_closed()


@pytest.mark.parametrize("protocol", ["vite-hmr", None])
async def test_a_live_reload_socket_opens_with_its_protocol(protocol):
    offered = [protocol] if protocol else None
    async with serve(until_closed, "127.0.0.1", 0, subprotocols=offered) as server:
        url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        assert await socket_opens(url, "/", protocol)


async def test_a_socket_that_does_not_open_is_noticed():
    async with listening(saying("404 Not Found")) as url:
        assert not await socket_opens(url, "/ws", None)
    assert not await socket_opens(f"http://127.0.0.1:{free_port()}", "/", None)


async def test_a_page_that_unpacks_without_end_is_not_unpacked():
    bomb = gzip.compress(gzip.compress(bytes(50_000_000)))
    async with listening(saying("200 OK", bomb, "Content-Encoding: gzip, gzip")) as url:
        tracemalloc.start()
        try:
            answer = await ask(url)
            _, most = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
    assert answer.status == 200
    assert most < 10 * BODY_BYTES


async def test_a_page_is_asked_for_unpacked():
    asked = []

    async def note(reader, writer):
        asked.append((await reader.readuntil(b"\r\n\r\n")).lower())
        writer.write(b"HTTP/1.1 204 No Content\r\n\r\n")

    async with listening(note) as url:
        await ask(url)
    assert b"accept-encoding: identity\r\n" in asked[0]


@pytest.mark.parametrize("path", ["/v2/sandboxes", "http://[::", "\xff"])
async def test_a_socket_s_redirect_leads_nowhere(path):
    reached = []

    async def elsewhere(reader, writer):
        reached.append(await reader.readuntil(b"\r\n\r\n"))
        writer.write(b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n")

    async with listening(elsewhere) as internal:
        location = internal.replace("http", "ws") + path if path.startswith("/") else path
        async with listening(saying("302 Found", b"", f"Location: {location}")) as url:
            assert not await socket_opens(url, "/", None)
    assert reached == []
