"""The same load for every receiver: `wrk` where it is installed, a small client of our own where not."""

import asyncio
import json
import os
import secrets
import shutil
import statistics
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path

from webhooks.delivery import sign

HERE = Path(__file__).parent
PAYLOAD = HERE / "payload.json"
PATH = "/webhooks/github"


@dataclass(frozen=True, slots=True)
class Load:
    """What came back: deliveries answered with 2xx and others, and how long answers took."""

    answered: int
    failed: int
    seconds: float
    p50_ms: float
    p99_ms: float


def send(port: int, secret: str, *, seconds: int, connections: int) -> Load:
    """Send signed deliveries for that long, over that many connections, each one as soon as the last is answered."""
    if shutil.which("wrk"):
        return _wrk(port, secret, seconds, connections)
    return asyncio.run(_own_client(port, secret, seconds, connections))


def _wrk(port: int, secret: str, seconds: int, connections: int) -> Load:
    signature = sign(PAYLOAD.read_bytes(), secret)
    done = subprocess.run(
        ["wrk", "-t1", f"-c{connections}", f"-d{seconds}s", "-s", HERE / "post.lua", f"http://127.0.0.1:{port}{PATH}"],
        env=os.environ | {"PAYLOAD": str(PAYLOAD), "SIGNATURE": signature, "RUN": secrets.token_hex(4)},
        capture_output=True,
        text=True,
        check=True,
        timeout=seconds + 30,
    )
    return Load(**json.loads(done.stdout.strip().splitlines()[-1]))


async def _own_client(port: int, secret: str, seconds: int, connections: int) -> Load:
    body = PAYLOAD.read_bytes()
    signature = sign(body, secret)
    run, started = secrets.token_hex(4), time.perf_counter()
    took: list[float] = []
    failed = 0

    async def connection(number: int) -> None:
        nonlocal failed
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        sent = 0
        while time.perf_counter() - started < seconds:
            sent += 1
            before = time.perf_counter()
            writer.write(request(body, signature, f"{run}-{number:04x}-11ef-8000-{sent:012x}"))
            status = await _read_answer(reader)
            took.append(time.perf_counter() - before)
            failed += not 200 <= status < 300
        writer.close()
        await writer.wait_closed()

    await asyncio.gather(*(connection(number) for number in range(connections)))
    centiles = statistics.quantiles(took, n=100)
    return Load(len(took), failed, time.perf_counter() - started, centiles[49] * 1000, centiles[98] * 1000)


def request(body: bytes, signature: str, delivery: str) -> bytes:
    """One delivery as bytes on the wire."""
    lines = [
        f"POST {PATH} HTTP/1.1",
        "host: 127.0.0.1",
        "content-type: application/json",
        f"content-length: {len(body)}",
        "user-agent: GitHub-Hookshot/0000000",
        "x-github-event: pull_request",
        f"x-github-delivery: {delivery}",
        f"x-hub-signature-256: {signature}",
    ]
    return "\r\n".join([*lines, "", ""]).encode() + body


async def _read_answer(reader: asyncio.StreamReader) -> int:
    head = (await reader.readuntil(b"\r\n\r\n")).lower()
    length = head.partition(b"content-length:")[2].split(b"\r\n", 1)[0]
    if length:
        await reader.readexactly(int(length))
    else:  # chunked, as probot answers
        await reader.readuntil(b"0\r\n\r\n")
    return int(head.split(b" ", 2)[1])
