"""Webhook deliveries: signed, sent one after the other per hook, and kept in a log.

https://docs.github.com/en/webhooks/webhook-events-and-payloads#delivery-headers
"""

import asyncio
import hashlib
import hmac
import json
import time
from collections.abc import Callable, Iterable
from datetime import datetime
from pathlib import Path
from typing import Any, Literal

import httpx
import structlog
from pydantic import Field

from bot.forge.delivery_faults import DeliveryFate, DeliveryFaults
from bot.forge.records import Record
from bot.forge.state import now, write_atomically

TIME_LIMIT = 10.0
"""Seconds that a receiver has to answer; GitHub's own limit."""
KEPT = 500
"""How many deliveries the log holds."""
MAX_RESPONSE_BYTES = 100_000
"""How much of a receiver's answer is kept."""

NOT_REACHED = {"status": "failed to connect to host", "status_code": 502}

log = structlog.get_logger()


class Target(Record):
    """Where a delivery goes: a repository's hook, or an App (`integration`, as GitHub's headers call it)."""

    type: Literal["repository", "integration"]
    id: int
    """The repository's or the App's id."""
    hook_id: int


class Address(Record):
    """A hook's URL and secret at the moment of sending."""

    url: str
    secret: str | None


class Delivery(Record):
    """One attempt to tell one hook of one event. A redelivery is a new delivery with the same `guid`."""

    id: int
    guid: str
    target: Target
    event: str
    action: str | None
    payload: dict[str, Any]
    installation_id: int | None
    repository_id: int | None
    delivered_at: datetime
    redelivery: bool = False
    status: str = "pending"
    status_code: int = 0
    duration: float = 0.0
    url: str = ""
    request_headers: dict[str, str] = Field(default_factory=dict)
    response_headers: dict[str, str] = Field(default_factory=dict)
    response_body: str = ""


def headers_for(delivery: Delivery, body: bytes, secret: str | None) -> dict[str, str]:
    """GitHub's headers; the signatures only when the hook has a secret."""
    headers = {
        "Accept": "*/*",
        "Content-Type": "application/json",
        "User-Agent": "GitHub-Hookshot/f0r9e00",
        "X-GitHub-Delivery": delivery.guid,
        "X-GitHub-Event": delivery.event,
        "X-GitHub-Hook-ID": str(delivery.target.hook_id),
        "X-GitHub-Hook-Installation-Target-ID": str(delivery.target.id),
        "X-GitHub-Hook-Installation-Target-Type": delivery.target.type,
    }
    if secret:
        headers["X-Hub-Signature"] = "sha1=" + hmac.new(secret.encode(), body, hashlib.sha1).hexdigest()
        headers["X-Hub-Signature-256"] = "sha256=" + hmac.new(secret.encode(), body, hashlib.sha256).hexdigest()
    return headers


class Outbox:
    """Sends deliveries in the order in which they were posted, hook by hook, and remembers the last of them."""

    def __init__(self, folder: Path, resolve: Callable[[Target], Address | None]) -> None:
        self.faults = DeliveryFaults()
        self.log: dict[int, Delivery] = {}
        self._folder = folder
        self._resolve = resolve
        self._queues: dict[int, asyncio.Queue[int]] = {}
        self._workers: set[asyncio.Task[None]] = set()
        self._client = httpx.AsyncClient(timeout=TIME_LIMIT, trust_env=False, follow_redirects=False)
        self._load()

    def post(self, delivery: Delivery) -> None:
        """Send a delivery, unless a fault decides otherwise."""
        fate, seconds = self.faults.fate(delivery.event, delivery.action)
        if fate is DeliveryFate.VANISH:
            return
        if fate is DeliveryFate.LOSE:
            self._keep(delivery.model_copy(update=NOT_REACHED))
            return
        self._keep(delivery.model_copy(update={"status": "held"}) if fate is DeliveryFate.HOLD else delivery)
        if fate is DeliveryFate.DELAY:
            asyncio.get_running_loop().call_later(seconds, self._enqueue, delivery.id)
        elif fate is not DeliveryFate.HOLD:
            for _ in range(2 if fate is DeliveryFate.REPEAT else 1):
                self._enqueue(delivery.id)

    def release(self, ids: Iterable[int] | None = None) -> list[int]:
        """Send held deliveries in the order given; by default all of them, oldest first. Returns the ids sent."""
        held = [key for key, delivery in self.log.items() if delivery.status == "held"]
        sent = held if ids is None else [key for key in ids if key in held]
        for key in sent:
            self._keep(self.log[key].model_copy(update={"status": "pending"}))
            self._enqueue(key)
        return sent

    async def close(self) -> None:
        """Stop sending. What was not sent counts as failed after a restart, and can be redelivered."""
        for worker in self._workers:
            worker.cancel()
        await asyncio.gather(*self._workers, return_exceptions=True)
        await self._client.aclose()

    def _enqueue(self, key: int) -> None:
        hook_id = self.log[key].target.hook_id
        if hook_id not in self._queues:
            self._queues[hook_id] = asyncio.Queue()
            self._workers.add(asyncio.create_task(self._work(self._queues[hook_id])))
        self._queues[hook_id].put_nowait(key)

    async def _work(self, queue: asyncio.Queue[int]) -> None:
        while True:
            key = await queue.get()
            if key in self.log:
                self._keep(await self._send(self.log[key]))

    async def _send(self, delivery: Delivery) -> Delivery:
        address = self._resolve(delivery.target)
        if address is None:
            return delivery.model_copy(update={"status": "no hook", "status_code": 404})
        body = json.dumps(delivery.payload, separators=(",", ":")).encode()
        headers = headers_for(delivery, body, address.secret)
        started = time.monotonic()
        asked = {"url": address.url, "request_headers": headers, "delivered_at": now()}
        try:
            async with asyncio.timeout(TIME_LIMIT):
                response = await self._client.post(address.url, content=body, headers=headers)
        except (httpx.HTTPError, httpx.InvalidURL, TimeoutError) as failure:
            late = isinstance(failure, TimeoutError | httpx.TimeoutException)
            outcome = {"status": "timed out", "status_code": 504} if late else NOT_REACHED
            log.info("delivery failed", event_name=delivery.event, guid=delivery.guid, reason=repr(failure))
            return delivery.model_copy(update={**asked, **outcome, "duration": round(time.monotonic() - started, 3)})
        answer = {
            "status": "OK" if response.is_success else response.reason_phrase or "Invalid HTTP Response",
            "status_code": response.status_code,
            "duration": round(time.monotonic() - started, 3),
            "response_headers": dict(response.headers),
            "response_body": response.text[:MAX_RESPONSE_BYTES],
        }
        return delivery.model_copy(update={**asked, **answer})

    def _keep(self, delivery: Delivery) -> None:
        self.log[delivery.id] = delivery
        write_atomically(self._folder / f"{delivery.id}.json", delivery.model_dump_json())
        while len(self.log) > KEPT:
            oldest = next(iter(self.log))
            del self.log[oldest]
            (self._folder / f"{oldest}.json").unlink(missing_ok=True)

    def _load(self) -> None:
        self._folder.mkdir(parents=True, exist_ok=True)
        for path in sorted(self._folder.glob("*.json"), key=lambda path: int(path.stem)):
            delivery = Delivery.model_validate_json(path.read_bytes())
            unsent = delivery.status == "pending"
            self.log[delivery.id] = delivery.model_copy(update=NOT_REACHED) if unsent else delivery
