"""Routes: the host's loopback ports that lead into a sandbox."""

import asyncio
import contextlib
import socket
from urllib.parse import urlsplit

import httpx
import pytest
from vercel.sandbox import Process, Sandbox

pytestmark = pytest.mark.bwrap

SERVER = """
import http.server, socket, sys
host, word = sys.argv[1:]
class Server(http.server.ThreadingHTTPServer):
    address_family = socket.AF_INET6 if ":" in host else socket.AF_INET
    request_queue_size = 128
class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    def do_POST(self):
        body = self.rfile.read(int(self.headers["content-length"]))
        self.answer(word.encode() + b" got %d" % len(body))
    def do_GET(self):
        self.answer(word.encode())
    def answer(self, body):
        self.send_response(200)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
    def log_message(self, *_): pass
server = Server((host, 3000), Handler)
print("up", flush=True)
server.serve_forever()
"""
HALF_CLOSE = """
import socket
listener = socket.create_server(("127.0.0.1", 3000))
print("up", flush=True)
while True:
    connection, _ = listener.accept()
    total = 0
    while data := connection.recv(65536):
        total += len(data)
    connection.sendall(b"%d" % total)
    connection.close()
"""


async def serve(sandbox: Sandbox, host: str, word: str = "hello", script: str = SERVER) -> Process:
    process = await sandbox.create_process("/usr/bin/python3", ["-c", script, host, word], stdout=-1)
    assert await process.stdout.readline() == "up\n"
    return process


@pytest.fixture
async def open_sandbox(make_sandbox) -> Sandbox:
    return await make_sandbox(ports=[3000])


@pytest.mark.parametrize("host", ["127.0.0.1", "::1", "0.0.0.0"])
async def test_a_server_is_reached_wherever_it_listens(open_sandbox: Sandbox, host: str) -> None:
    await serve(open_sandbox, host)
    async with httpx.AsyncClient(timeout=60) as http:
        assert (await http.get(open_sandbox.routes[0].url)).text == "hello"
        assert (await http.post(open_sandbox.routes[0].url, content=b"x" * 3_000_000)).text == "hello got 3000000"


async def test_where_nothing_listens_the_connection_is_reset_at_once(open_sandbox: Sandbox) -> None:
    async with httpx.AsyncClient(timeout=60) as http:
        with pytest.raises((httpx.ConnectError, httpx.ReadError, httpx.RemoteProtocolError)):
            await http.get(open_sandbox.routes[0].url)


async def test_a_restarted_server_answers_at_the_same_url(open_sandbox: Sandbox) -> None:
    first = await serve(open_sandbox, "127.0.0.1", "first")
    async with httpx.AsyncClient(timeout=60) as http:
        assert (await http.get(open_sandbox.routes[0].url)).text == "first"
        await first.kill()
        await first.wait()
        with pytest.raises(httpx.TransportError):
            await http.get(open_sandbox.routes[0].url)
        await serve(open_sandbox, "127.0.0.1", "second")
        assert (await http.get(open_sandbox.routes[0].url)).text == "second"


async def test_many_connections_at_once(open_sandbox: Sandbox) -> None:
    await serve(open_sandbox, "127.0.0.1")
    async with httpx.AsyncClient(timeout=60) as http:
        answers = await asyncio.gather(*(http.get(open_sandbox.routes[0].url) for _ in range(60)))
    assert {answer.text for answer in answers} == {"hello"}


async def test_a_client_may_finish_sending_before_it_reads(open_sandbox: Sandbox) -> None:
    await serve(open_sandbox, "127.0.0.1", script=HALF_CLOSE)
    reader, writer = await asyncio.open_connection("127.0.0.1", urlsplit(open_sandbox.routes[0].url).port)
    writer.write(b"x" * 1_000_000)
    writer.write_eof()
    assert await reader.read() == b"1000000"
    writer.close()
    await writer.wait_closed()


async def test_the_url_outlives_stop_and_resume(make_sandbox) -> None:
    sandbox = await make_sandbox(ports=[3000], persistent=True)
    url = sandbox.routes[0].url
    await sandbox.stop()
    with (
        pytest.raises(ConnectionResetError),
        contextlib.closing(socket.create_connection(("127.0.0.1", urlsplit(url).port))) as end,
    ):
        assert end.recv(1)
    await serve(sandbox, "127.0.0.1")
    async with httpx.AsyncClient(timeout=60) as http:
        assert (await http.get(url)).text == "hello"


async def test_two_sandboxes_use_the_same_port(make_sandbox) -> None:
    sandboxes = [await make_sandbox(ports=[3000]) for _ in range(2)]
    for number, sandbox in enumerate(sandboxes):
        await serve(sandbox, "127.0.0.1", f"number {number}")
    async with httpx.AsyncClient(timeout=60) as http:
        answers = [(await http.get(sandbox.routes[0].url)).text for sandbox in sandboxes]
    assert answers == ["number 0", "number 1"]
