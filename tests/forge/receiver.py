"""A webhook receiver: a real little HTTP server in a thread that writes down what it is sent."""

import asyncio
import hashlib
import hmac
import json
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from tests.forge_driver import until


@dataclass(frozen=True, slots=True)
class Received:
    """One POST."""

    headers: dict[str, str]
    body: bytes

    @property
    def event(self) -> str:
        """`event` or `event.action`."""
        action = self.payload.get("action")
        return self.headers["x-github-event"] + (f".{action}" if action else "")

    @property
    def guid(self) -> str:
        """The delivery's id."""
        return self.headers["x-github-delivery"]

    @property
    def payload(self) -> dict[str, Any]:
        """The JSON."""
        payload: dict[str, Any] = json.loads(self.body)
        return payload

    def signed_with(self, secret: str) -> bool:
        """Whether the signature over the raw body is right."""
        digest = hmac.new(secret.encode(), self.body, hashlib.sha256).hexdigest()
        return hmac.compare_digest(self.headers.get("x-hub-signature-256", ""), f"sha256={digest}")


class Receiver:
    """What arrived so far. `answers` are the next statuses to give; then it is 202 again."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.received: list[Received] = []
        self.answers: list[int] = []

    def of(self, event: str) -> list[Received]:
        """What arrived of one event, `name` or `name.action`."""
        return [item for item in self.received if item.event == event]

    async def expect(self, *events: str) -> list[Received]:
        """Wait until each of these has arrived, as often as it is named; the first of each, in that order."""

        async def all_there() -> bool:
            await asyncio.sleep(0)
            return all(len(self.of(event)) >= events.count(event) for event in events)

        try:
            await until(all_there, what=f"deliveries {events}")
        except TimeoutError as late:
            raise AssertionError(f"wanted {events}, got {self.names()}") from late
        return [self.of(event)[0] for event in events]

    def names(self) -> Sequence[str]:
        """What arrived, in order."""
        return [item.event for item in self.received]


@contextmanager
def receiving() -> Iterator[Receiver]:
    """A receiver on loopback for as long as the block lasts."""

    class Door(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["content-length"]))
            receiver.received.append(Received({name.lower(): value for name, value in self.headers.items()}, body))
            self.send_response(receiver.answers.pop(0) if receiver.answers else 202)
            self.send_header("Content-Length", "2")
            self.end_headers()
            self.wfile.write(b"ok")

        def log_message(self, *_: object) -> None:
            """Keep the terminal for pytest."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Door) as server:
        server.daemon_threads = True
        receiver = Receiver(f"http://127.0.0.1:{server.server_port}/hook")
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        try:
            yield receiver
        finally:
            server.shutdown()
            thread.join()
