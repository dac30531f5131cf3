"""`POST /webhooks/github`: verify a delivery, store it, answer. Nothing slow happens inside the request.

A raw ASGI route and not a litestar `@post`: that one costs nearly twice the CPU per delivery and has no place for one
deadline over body and storage, or for an answer while the body still comes in.
"""

import asyncio
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import PurePath
from typing import Final, Protocol

import msgspec
import structlog
from litestar import asgi
from litestar.enums import ScopeType
from litestar.handlers import ASGIRouteHandler
from litestar.types import Receive, Scope, Send

from bot.errors import PreviewError
from bot.events import Ignored
from webhooks.body import Body, Buffer, ClientGone
from webhooks.delivery import Delivery, Headers, claimed_event, claimed_id
from webhooks.refusals import BodyTooSlow, DeliveryNotStored, MethodNotAllowed, Refusal

PATH: Final = "/webhooks/github"

DEADLINE_SECONDS: Final = 10.0
"""GitHub gives up after ten seconds, so nobody waits for a later answer.

https://docs.github.com/en/webhooks/using-webhooks/best-practices-for-using-webhooks#respond-within-10-seconds
"""

RETRY_SECONDS: Final = 30
"""For proxies and people with a script; GitHub itself keeps a failed delivery until somebody asks for it again."""

log = structlog.get_logger()


class Inbox(Protocol):
    """Where deliveries wait until they are acted on."""

    async def put(self, delivery: Delivery, /) -> bool:
        """Return True once the delivery is stored durably, False if its id was *processed* before.

        Whatever it raises is answered with 503: that delivery is not acknowledged.
        """


@dataclass(frozen=True, slots=True)
class Answer:
    """A status, extra headers and a JSON body."""

    status: int
    body: bytes
    headers: tuple[tuple[bytes, bytes], ...] = ()


ACCEPTED = Answer(202, b'{"status":"accepted"}')
DUPLICATE = Answer(202, b'{"status":"duplicate"}')


def github_webhook(
    inbox: Inbox, secret: Callable[[], str] | str, *, deadline_seconds: float = DEADLINE_SECONDS
) -> ASGIRouteHandler:
    """The route. A callable `secret` is asked for each delivery, so a secret may change while the bot runs."""
    receiver = _Receiver(inbox, secret if callable(secret) else lambda: secret, deadline_seconds)

    @asgi(PATH, copy_scope=False)
    async def webhook(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == ScopeType.WEBSOCKET:
            await send({"type": "websocket.close", "code": 1008, "reason": None})
        else:
            await receiver.respond(scope["method"], dict(scope["headers"]), receive, send)

    return webhook


class _Receiver:
    def __init__(self, inbox: Inbox, secret: Callable[[], str], deadline_seconds: float) -> None:
        self._inbox = inbox
        self._secret = secret
        self._deadline_seconds = deadline_seconds
        self._buffer = Buffer()

    async def respond(self, method: str, headers: Headers, receive: Receive, send: Send) -> None:
        """Answer one request, whatever it is; only a sender that hung up gets nothing."""
        body = Body(receive, self._buffer)
        try:
            answer = await self._answer(method, headers, body)
            if body.complete:
                await _send(send, answer)
            else:
                await self._send_early(send, answer, body)
        except ClientGone:
            log.warning("delivery cut off by its sender", **_claims(headers))
        finally:
            body.release()

    async def _answer(self, method: str, headers: Headers, body: Body) -> Answer:
        try:
            return await self._receive(method, headers, body)
        except Refusal as refusal:
            log.warning("delivery refused", status=refusal.status, reason=refusal.reason, **_claims(headers))
            return _refused(refusal)
        except ClientGone:
            raise
        except Exception as error:  # whatever it was: not stored, so not acknowledged
            reason = _without_values(error)
            log.error("delivery not stored", status=503, reason=reason, **_claims(headers))  # noqa: TRY400 a traceback may show the body
            return _refused(DeliveryNotStored("the delivery could not be stored"))

    async def _receive(self, method: str, headers: Headers, body: Body) -> Answer:
        if method != "POST":
            raise MethodNotAllowed("deliveries are sent with POST")
        try:
            async with asyncio.timeout(self._deadline_seconds) as deadline:
                delivery = Delivery.from_http(headers, await body.read(headers), self._secret())
                return await self._keep(delivery)
        except TimeoutError as error:
            if not deadline.expired():
                raise
            if not body.complete:
                raise BodyTooSlow(f"the body took more than {self._deadline_seconds:g} s") from error
            raise DeliveryNotStored(f"not stored within {self._deadline_seconds:g} s") from error

    async def _keep(self, delivery: Delivery) -> Answer:
        if isinstance(delivery.meaning, Ignored):
            log.info("delivery ignored", reason=delivery.meaning.reason, **_names(delivery))
            return Answer(202, msgspec.json.encode({"status": "ignored", "reason": delivery.meaning.reason}))
        if await self._inbox.put(delivery):
            return ACCEPTED
        log.info("delivery processed before", **_names(delivery))
        return DUPLICATE

    async def _send_early(self, send: Send, answer: Answer, body: Body) -> None:
        """Answer before the body is complete, then let the rest run out for a while: see `Body.discard`."""
        await _send(send, answer, last=False)
        with suppress(TimeoutError, ClientGone):
            async with asyncio.timeout(self._deadline_seconds):
                await body.discard()
        await send({"type": "http.response.body", "body": b"", "more_body": False})


async def _send(send: Send, answer: Answer, *, last: bool = True) -> None:
    fields = [
        (b"content-type", b"application/json"),
        (b"content-length", str(len(answer.body)).encode()),
        *answer.headers,
    ]
    if not last:
        fields.append((b"connection", b"close"))
    await send({"type": "http.response.start", "status": answer.status, "headers": fields})
    await send({"type": "http.response.body", "body": answer.body, "more_body": not last})


def _refused(refusal: Refusal) -> Answer:
    headers: tuple[tuple[bytes, bytes], ...] = ()
    if refusal.status == 405:
        headers = ((b"allow", b"POST"),)
    elif refusal.status == 503:
        headers = ((b"retry-after", str(RETRY_SECONDS).encode()),)
    return Answer(refusal.status, msgspec.json.encode({"status": "refused", "reason": refusal.reason}), headers)


def _claims(headers: Headers) -> dict[str, str | None]:
    """What an unverified request says that it is, for the log."""
    return {"delivery": claimed_id(headers), "event_name": claimed_event(headers)}


def _names(delivery: Delivery) -> dict[str, str]:
    return {"delivery": delivery.id, "event_name": delivery.event}


def _without_values(error: Exception) -> str:
    """An error for the log: our own in its words, others by type and place, for their texts may hold the body."""
    if isinstance(error, PreviewError):
        return str(error)
    frame = error.__traceback__
    while frame and frame.tb_next:
        frame = frame.tb_next
    where = f" at {PurePath(frame.tb_frame.f_code.co_filename).name}:{frame.tb_lineno}" if frame else ""
    return f"{type(error).__name__}{where}"
