"""What every REST answer carries, whatever route gave it: an ETag (and 304), the rate limit, a request id.

Also where a renamed repository's old name, and the address by id, find their way.
https://docs.github.com/en/rest/using-the-rest-api/best-practices-for-using-the-rest-api
"""

import hashlib
import json
import re
import uuid
from typing import cast
from urllib.parse import quote

from litestar.enums import ScopeType
from litestar.types import ASGIApp, HTTPScope, Message, Receive, Scope, Send

from bot.forge.errors import DOCUMENTATION
from bot.forge.forge import Forge

Headers = list[tuple[bytes, bytes]]

BY_NAME = re.compile(r"^/api/v3/repos/([^/]+)/([^/]+)(/.*)?$")
BY_ID = re.compile(r"^/api/v3/repositories/(\d+)(/.*)?$")


def with_rest_edge(app: ASGIApp, forge: Forge) -> ASGIApp:
    """The same application with GitHub's edge around everything below `/api/v3`."""

    async def edged(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != ScopeType.HTTP or not scope["path"].startswith("/api/v3"):
            await app(scope, receive, send)
            return
        answer = _Answer(forge, scope, send)
        moved = _moved(forge, scope)
        if moved:
            await _redirect(answer.take, moved, permanent=scope["method"] in ("GET", "HEAD"))
            return
        await app(_by_name(forge, scope), receive, answer.take)

    return edged


def _moved(forge: Forge, scope: HTTPScope) -> str | None:
    """Where a renamed repository's old name leads: to its address by id."""
    match = BY_NAME.match(scope["path"])
    if match is None or forge.state.repository(f"{match[1]}/{match[2]}"):
        return None
    repo_id = forge.state.former_names.get(f"{match[1]}/{match[2]}".lower())
    if repo_id is None:
        return None
    query = scope["query_string"].decode()
    return f"{forge.urls.api}/repositories/{repo_id}{match[3] or ''}{'?' + query if query else ''}"


def _by_name(forge: Forge, scope: HTTPScope) -> HTTPScope:
    """An address by id is served as the address by name."""
    match = BY_ID.match(scope["path"])
    repository = forge.state.repositories.get(int(match[1])) if match else None
    if match is None or repository is None:
        return scope
    path = f"/api/v3/repos/{repository.full_name}{match[2] or ''}"
    return cast("HTTPScope", {**scope, "path": path, "raw_path": quote(path).encode()})


async def _redirect(send: Send, location: str, *, permanent: bool) -> None:
    text = "Moved Permanently" if permanent else "Temporary Redirect"
    body = json.dumps({"message": text, "url": location, "documentation_url": DOCUMENTATION}).encode()
    headers = [(b"content-type", b"application/json; charset=utf-8"), (b"location", location.encode())]
    await send({"type": "http.response.start", "status": 301 if permanent else 307, "headers": headers})
    await send({"type": "http.response.body", "body": body, "more_body": False})


class _Answer:
    """Gathers an answer whole, then sends it with what belongs on it. REST answers are small."""

    def __init__(self, forge: Forge, scope: HTTPScope, send: Send) -> None:
        self._forge = forge
        self._scope = scope
        self._send = send
        self._status = 0
        self._headers: Headers = []
        self._body = b""

    async def take(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self._status, self._headers = message["status"], list(message["headers"])
        elif message["type"] == "http.response.body":
            self._body += message["body"]
            if not message["more_body"]:
                await self._finish()

    async def _finish(self) -> None:
        asked = {name.decode("latin-1"): value.decode("latin-1") for name, value in self._scope["headers"]}
        if self._scope["method"] == "GET" and self._status == 200:
            tag = f'"{hashlib.sha256(self._body).hexdigest()}"'
            self._headers.append((b"etag", f"W/{tag}".encode()))
            if any(tag in candidate for candidate in asked.get("if-none-match", "").split(",")):
                self._status, self._body = 304, b""
        await self._send({"type": "http.response.start", "status": self._status, "headers": self._with_edge(asked)})
        await self._send({"type": "http.response.body", "body": self._body, "more_body": False})

    def _with_edge(self, asked: dict[str, str]) -> Headers:
        credentials = asked.get("authorization", "")
        free = self._status == 304 or self._scope["path"].endswith("/rate_limit")
        rate = self._forge.rates.peek(credentials) if free else self._forge.rates.spend(credentials)
        extra = {
            **rate.headers(),
            "X-GitHub-Media-Type": "github.v3; format=json",
            "X-GitHub-Request-Id": uuid.uuid4().hex[:20].upper(),
        }
        kept = [(name, value) for name, value in self._headers if name.lower() != b"content-length"]
        length = [] if self._status in (204, 304) else [(b"content-length", str(len(self._body)).encode())]
        return kept + length + [(name.lower().encode(), value.encode()) for name, value in extra.items()]
