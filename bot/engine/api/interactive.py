"""Routes about terminals: a ticket for one, and the WebSocket that carries it.

The API's own protocol: text frames `start` and `resize` in, terminal bytes both ways, and a text frame `exit` at the
end. The ticket stands in for the bearer token, which clients do not send along with a WebSocket.
"""

import asyncio
import json
import secrets
import time
from collections.abc import AsyncIterator
from dataclasses import dataclass

from litestar import Request, Router, WebSocket, post, websocket
from litestar.exceptions import WebSocketDisconnect
from pydantic import ValidationError

from bot.engine.api.answers import Json
from bot.engine.errors import AgentGone, ApiError
from bot.engine.guest import GuestError
from bot.engine.processes import cannot_start
from bot.engine.sandbox import Sandbox
from bot.engine.sandboxes import Sandboxes
from bot.engine.terminal import Terminal, open_terminal
from bot.engine.users import without_wrapper
from bot.engine.wire import ResizeFrame, StartFrame

_PATH = "/interactive"
_TICKET_LIFE = 60.0
_MOST_TICKETS = 1000
_GOING_AWAY, _REFUSED, _FAILED = 1001, 1008, 1011  # RFC 6455, section 7.4.1


@dataclass(frozen=True, slots=True)
class _Ticket:
    session_id: str
    until: float


class Tickets:
    """Each is good for one connection within a minute."""

    def __init__(self) -> None:
        self._issued: dict[str, _Ticket] = {}

    def issue(self, session_id: str) -> str:
        self._issued = {word: one for word, one in self._issued.items() if one.until > time.monotonic()}
        if len(self._issued) >= _MOST_TICKETS:
            raise ApiError(429, "too_many_requests", "too many terminals are about to be opened")
        word = secrets.token_urlsafe(32)
        self._issued[word] = _Ticket(session_id, time.monotonic() + _TICKET_LIFE)
        return word

    def redeem(self, word: str) -> str | None:
        """The session that the ticket is for, once."""
        ticket = self._issued.pop(word, None)
        return ticket.session_id if ticket and ticket.until > time.monotonic() else None


@post("/v2/sandboxes/sessions/{session_id:str}/interactive", status_code=200)
async def open_interactive(
    request: Request,  # type: ignore[type-arg]
    sandboxes: Sandboxes,
    tickets: Tickets,
    session_id: str,
) -> Json:
    await sandboxes.of_session(session_id).running(session_id)
    scheme = "wss" if request.url.scheme == "https" else "ws"
    return {"url": f"{scheme}://{request.headers['host']}{_PATH}", "token": tickets.issue(session_id)}


@websocket(_PATH)
async def carry_terminal(socket: WebSocket, sandboxes: Sandboxes, tickets: Tickets, token: str = "") -> None:  # type: ignore[type-arg]
    session_id = tickets.redeem(token)
    await socket.accept()
    if session_id is None:
        await socket.close(_REFUSED, "the ticket is not valid")
        return
    try:
        await _carry(socket, sandboxes.of_session(session_id), session_id)
    except (ApiError, ValidationError, ValueError) as error:
        await socket.close(_REFUSED, _reason(error))
    except AgentGone:
        await socket.close(_GOING_AWAY, "the sandbox ended")
    except WebSocketDisconnect:
        pass


async def _carry(socket: WebSocket, sandbox: Sandbox, session_id: str) -> None:  # type: ignore[type-arg]
    start = StartFrame.model_validate_json(await socket.receive_text())
    box = await sandbox.running(session_id)
    argv, cwd = without_wrapper([start.command, *start.args]), sandbox.place(start.cwd)
    try:
        async with open_terminal(
            box.guest,
            argv,
            cwd=cwd,
            env={**sandbox.environment, **start.environment},
            columns=start.cols,
            rows=start.rows,
        ) as terminal:
            await _exchange(socket, terminal)
    except GuestError as error:
        raise cannot_start(error, argv[0], cwd) from error


async def _exchange(socket: WebSocket, terminal: Terminal) -> None:  # type: ignore[type-arg]
    listening = asyncio.create_task(_listen(socket, terminal))
    showing = asyncio.create_task(_show(socket, terminal.screen()))
    try:
        await asyncio.wait([listening, showing], return_when=asyncio.FIRST_COMPLETED)
        if not showing.done():
            await listening  # raises why nobody is there any more
            return
        await showing
        await socket.send_text(json.dumps({"type": "exit", "code": await terminal.ended}))
        await socket.close()
    finally:
        for task in (listening, showing):
            task.cancel()
        await asyncio.gather(listening, showing, return_exceptions=True)


async def _listen(socket: WebSocket, terminal: Terminal) -> None:  # type: ignore[type-arg]
    while True:
        frame = await socket.receive()
        if frame["type"] == "websocket.disconnect":
            raise WebSocketDisconnect(detail="the client left", code=frame.get("code") or _GOING_AWAY)
        data, text = frame.get("bytes"), frame.get("text")
        if isinstance(data, bytes):
            await terminal.type(data)
        elif isinstance(text, str):
            size = ResizeFrame.model_validate_json(text)
            terminal.resize(size.cols, size.rows)


async def _show(socket: WebSocket, screen: AsyncIterator[bytes]) -> None:  # type: ignore[type-arg]
    async for data in screen:
        await socket.send_bytes(data)


def _reason(error: Exception) -> str:
    """A close frame has room for 123 bytes."""
    text = error.message if isinstance(error, ApiError) else "the frame cannot be understood"
    return text.encode()[:120].decode(errors="ignore")


router = Router("/", route_handlers=[open_interactive])
