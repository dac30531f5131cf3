"""A delivery as GitHub sends it, the example payloads, and a receiver that really listens."""

import hashlib
import hmac
import json
import socket
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest
import uvicorn
from litestar import Litestar
from litestar.handlers import ASGIRouteHandler

from webhooks.delivery import Delivery
from webhooks.receiver import github_webhook

SECRET = "It's a Secret to Everybody"
EXAMPLES = Path(__file__).parent / "examples"


class GitHubRequest:
    """Headers and body of one delivery; change what a test is about."""

    def __init__(self, event: str, body: bytes, *, secret: str = SECRET) -> None:
        self.body = body
        self.headers = {
            b"content-type": b"application/json",
            b"user-agent": b"GitHub-Hookshot/044aadd",
            b"x-github-delivery": b"72d3162e-cc78-11e3-81ab-4c9367dc0958",
            b"x-github-event": event.encode(),
            b"x-github-hook-id": b"292430182",
            b"x-hub-signature-256": signature(body, secret),
        }


def signature(body: bytes, secret: str = SECRET) -> bytes:
    return b"sha256=" + hmac.new(secret.encode(), body, hashlib.sha256).hexdigest().encode()


def example(name: str) -> dict[str, Any]:
    """One example payload, as plain data to change."""
    loaded: dict[str, Any] = json.loads((EXAMPLES / f"{name}.json").read_bytes())
    return loaded


@pytest.fixture(name="example")
def _example() -> Any:
    return example


@pytest.fixture(name="secret")
def _secret() -> str:
    return SECRET


@pytest.fixture(name="signed")
def _signed() -> Any:
    return signature


@pytest.fixture
def opened() -> GitHubRequest:
    """A pull request was opened: a delivery that is accepted."""
    return GitHubRequest("pull_request", (EXAMPLES / "pull_request.opened.json").read_bytes())


class SqliteInbox:
    """A durable inbox in one table, whose disk can be full."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._db = sqlite3.connect(path, check_same_thread=False, isolation_level=None)
        self._db.execute("CREATE TABLE delivery (id TEXT PRIMARY KEY, event TEXT, body BLOB, processed INT DEFAULT 0)")

    async def put(self, delivery: Delivery) -> bool:
        values = (delivery.id, delivery.event, delivery.body)
        self._db.execute("INSERT INTO delivery (id, event, body) VALUES (?, ?, ?) ON CONFLICT DO NOTHING", values)
        return not self.one("SELECT processed FROM delivery WHERE id = ?", delivery.id)

    def fill_the_disk(self) -> None:
        self._db.execute(f"PRAGMA max_page_count = {self.one('PRAGMA page_count')}")

    def process_all(self) -> None:
        self._db.execute("UPDATE delivery SET processed = 1")

    def one(self, query: str, *values: object) -> Any:
        return self._db.execute(query, values).fetchone()[0]

    def stored(self) -> list[tuple[str, str, bytes]]:
        """What another process would find on the disk."""
        with closing(sqlite3.connect(self._path)) as other:
            return other.execute("SELECT id, event, body FROM delivery ORDER BY rowid").fetchall()

    def close(self) -> None:
        self._db.close()


@pytest.fixture
def inbox(tmp_path: Path) -> Iterator[SqliteInbox]:
    with closing(SqliteInbox(tmp_path / "inbox.sqlite")) as opened:
        yield opened


@contextmanager
def serving(route: ASGIRouteHandler) -> Iterator[int]:
    """The route on uvicorn as in production (uvloop, httptools), in a thread of its own; yields the port."""
    app = Litestar([route], openapi_config=None, logging_config=None)
    config = uvicorn.Config(app, loop="uvloop", http="httptools", lifespan="off", access_log=False, log_config=None)
    server = uvicorn.Server(config)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
        thread.start()
        try:
            yield listener.getsockname()[1]
        finally:
            server.should_exit = True
            thread.join()


@pytest.fixture(name="serving")
def _serving() -> Any:
    return serving


@pytest.fixture
def port(inbox: SqliteInbox) -> Iterator[int]:
    with serving(github_webhook(inbox, SECRET, deadline_seconds=5)) as served:
        yield served
