"""`Delivery`: one POST of GitHub's that was verified before it was read."""

import hmac
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Self

from bot.events import Event
from webhooks.payloads import decode
from webhooks.refusals import ContentTypeRefused, PayloadInvalid, PayloadTooLarge, SignatureRefused

MAX_BODY_BYTES = 25 * 1024 * 1024
"""GitHub drops a payload above 25 MB. https://docs.github.com/en/webhooks/webhook-events-and-payloads#payload-cap"""

Headers = Mapping[bytes, bytes]
"""By name, in lower case as ASGI has them. GitHub repeats none."""

_GUID = re.compile(rb"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")
_EVENT_NAME = re.compile(rb"[a-z][a-z0-9_]{0,59}")


@dataclass(frozen=True, slots=True)
class Delivery:
    """A verified delivery. `id` is the same when GitHub delivers again; `body` is exactly what was signed.

    `event` is GitHub's name for it, `meaning` is what it means to us. What people wrote stays out of the `repr`.
    """

    id: str
    event: str
    body: bytes = field(repr=False)
    meaning: Event = field(repr=False)

    @classmethod
    def from_http(cls, headers: Headers, body: bytes, secret: str) -> Self:
        """Verify, then construct: the only way in which a delivery comes from the network.

        The id and the event's name are headers, which the signature does not cover; so they are checked for shape and
        never trusted for more. Raises a `Refusal`: PayloadTooLarge, SignatureRefused, ContentTypeRefused or
        PayloadInvalid, in this order.
        """
        if len(body) > MAX_BODY_BYTES:
            raise PayloadTooLarge(f"the body is larger than {MAX_BODY_BYTES} bytes")
        _verify(headers, body, secret)
        _require_json(headers.get(b"content-type", b""))
        delivery_id = claimed_id(headers)
        event = claimed_event(headers)
        if delivery_id is None:
            raise PayloadInvalid("X-GitHub-Delivery is missing or not a GUID")
        if event is None:
            raise PayloadInvalid("X-GitHub-Event is missing or not an event's name")
        return cls(delivery_id, event, body, decode(event, body))


def sign(body: bytes, secret: str) -> str:
    """The value of `X-Hub-Signature-256` for a body."""
    return "sha256=" + hmac.digest(secret.encode(), body, "sha256").hex()


def claimed_id(headers: Headers) -> str | None:
    """The delivery id that a request claims, in lower case; None when it is not a GUID, so it is safe to log."""
    return _shaped(_GUID, headers.get(b"x-github-delivery", b""))


def claimed_event(headers: Headers) -> str | None:
    """The event name that a request claims; None when it cannot be one, so it is safe to log."""
    return _shaped(_EVENT_NAME, headers.get(b"x-github-event", b""))


def _shaped(pattern: re.Pattern[bytes], value: bytes) -> str | None:
    return value.decode("ascii").lower() if pattern.fullmatch(value) else None


def _verify(headers: Headers, body: bytes, secret: str) -> None:
    """Compare in constant time, as bytes: the header may hold anything.

    https://docs.github.com/en/webhooks/using-webhooks/validating-webhook-deliveries
    """
    if not secret:
        raise SignatureRefused("the bot has no webhook secret, so no delivery can be trusted")
    signature = headers.get(b"x-hub-signature-256")
    if signature is None:
        only_sha1 = " (X-Hub-Signature is SHA-1 and does not count)" if b"x-hub-signature" in headers else ""
        raise SignatureRefused(f"X-Hub-Signature-256 is missing: set a secret on the webhook{only_sha1}")
    if not hmac.compare_digest(signature, sign(body, secret).encode()):
        raise SignatureRefused("the signature does not match: the webhook's secret is another one, or the body changed")


def _require_json(content_type: bytes) -> None:
    media_type = content_type.partition(b";")[0].strip().lower()
    if media_type == b"application/x-www-form-urlencoded":
        raise ContentTypeRefused("form encoding is not read: set the webhook's content type to application/json")
    if media_type != b"application/json":
        raise ContentTypeRefused("the content type is not application/json")
