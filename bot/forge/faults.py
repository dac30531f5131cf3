"""Faults on request: the next matching calls fail in one of the ways in which GitHub, or the way to it, fails."""

import asyncio
import json
import re
import time
from collections.abc import Callable
from enum import StrEnum
from typing import cast

import structlog
from litestar.enums import ScopeType
from litestar.types import ASGIApp, Message, Receive, Scope, Send
from pydantic import BaseModel, ConfigDict, Field

from bot.forge.errors import DOCUMENTATION

RESET_EXTENSION = "forge.reset"
"""The scope extension, put there by `bot.forge.server`, that cuts the connection."""


log = structlog.get_logger()


class FaultKind(StrEnum):
    """How a call fails."""

    SERVER_ERROR = "server_error"
    """`status` (502) and nothing done."""
    LOST_ANSWER = "lost_answer"
    """The work is done, and the answer is `status` (502) all the same."""
    SECONDARY_LIMIT = "secondary_limit"
    """403 with Retry-After: https://docs.github.com/en/rest/using-the-rest-api/troubleshooting-the-rest-api"""
    PRIMARY_LIMIT = "primary_limit"
    """403 with nothing remaining until `retry_after` seconds from now."""
    TOO_MANY_REQUESTS = "too_many_requests"
    """429 with Retry-After."""
    UNAUTHORIZED = "unauthorized"
    """401 Bad credentials."""
    REDIRECT = "redirect"
    """307 to `location`."""
    HANG = "hang"
    """No answer until the caller gives up."""
    SLOW = "slow"
    """The ordinary answer, `seconds` late."""
    RESET = "reset"
    """The connection is cut before the answer."""


class Fault(BaseModel):
    """The next `times` calls of `method` (any when empty) whose path matches the regular expression `path`."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    kind: FaultKind
    method: str = ""
    path: str = ""
    times: int = Field(default=1, ge=1)
    status: int = Field(default=502, ge=400, le=599)
    retry_after: int = Field(default=1, ge=0)
    location: str = ""
    seconds: float = Field(default=0.0, ge=0, le=60)


class Faults:
    """The faults that wait for a call to match, first come first served."""

    def __init__(self) -> None:
        self._waiting: list[Fault] = []

    def add(self, fault: Fault) -> None:
        """Arm a fault."""
        self._waiting.append(fault)

    def clear(self) -> None:
        """Disarm all."""
        self._waiting.clear()

    def take(self, method: str, path: str) -> Fault | None:
        """The fault that strikes this call, if any. Uses up one of its `times`."""
        for index, fault in enumerate(self._waiting):
            if fault.method.upper() in ("", method) and re.search(fault.path, path):
                left = fault.times - 1
                self._waiting[index : index + 1] = [fault.model_copy(update={"times": left})] if left else []
                return fault
        return None


def with_faults(app: ASGIApp, faults: Faults) -> ASGIApp:
    """The same application, on which faults strike. The admin API is out of their reach."""

    async def struck(scope: Scope, receive: Receive, send: Send) -> None:
        exempt = scope["type"] != ScopeType.HTTP or scope["path"].startswith("/_forge")
        fault = None if exempt else faults.take(cast("str", scope.get("method")), scope["path"])
        if fault is None:
            await app(scope, receive, send)
            return
        log.info("a fault strikes", kind=fault.kind.value, path=scope["path"])
        if fault.kind is FaultKind.HANG:
            await _until_gone(receive)
        elif fault.kind is FaultKind.RESET:
            cast("Callable[[], None]", scope["extensions"][RESET_EXTENSION])()  # type: ignore[index]
        elif fault.kind is FaultKind.SLOW:
            await asyncio.sleep(fault.seconds)
            await app(scope, receive, send)
        else:
            if fault.kind is FaultKind.LOST_ANSWER:
                await app(scope, receive, _nowhere)
            await _answer(fault, send)

    return struck


async def _until_gone(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        continue


async def _nowhere(message: Message) -> None:
    del message


async def _answer(fault: Fault, send: Send) -> None:
    status, message, headers = _failure(fault)
    body = json.dumps({"message": message, "documentation_url": DOCUMENTATION, "status": str(status)}).encode()
    headers = {"content-type": "application/json; charset=utf-8", "content-length": str(len(body)), **headers}
    raw = [(name.encode(), value.encode()) for name, value in headers.items()]
    await send({"type": "http.response.start", "status": status, "headers": raw})
    await send({"type": "http.response.body", "body": body, "more_body": False})


def _failure(fault: Fault) -> tuple[int, str, dict[str, str]]:
    wait = {"retry-after": str(fault.retry_after)}
    exhausted = {"x-ratelimit-remaining": "0", "x-ratelimit-reset": str(int(time.time()) + fault.retry_after)}
    secondary = "You have exceeded a secondary rate limit. Please wait a few minutes before you try again."
    failures: dict[FaultKind, tuple[int, str, dict[str, str]]] = {
        FaultKind.SERVER_ERROR: (fault.status, "Server Error", {}),
        FaultKind.LOST_ANSWER: (fault.status, "Server Error", {}),
        FaultKind.SECONDARY_LIMIT: (403, secondary, wait),
        FaultKind.PRIMARY_LIMIT: (403, "API rate limit exceeded for this installation.", exhausted),
        FaultKind.TOO_MANY_REQUESTS: (429, secondary, wait),
        FaultKind.UNAUTHORIZED: (401, "Bad credentials", {}),
        FaultKind.REDIRECT: (307, "Temporary Redirect", {"location": fault.location}),
    }
    return failures[fault.kind]
