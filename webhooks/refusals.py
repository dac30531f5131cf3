"""How a delivery is refused: one exception per reason, each with its HTTP status.

Refusal
 ├─ PayloadInvalid        400  headers or JSON that no delivery of GitHub's has
 ├─ SignatureRefused      401  not signed, or not with our secret
 ├─ MethodNotAllowed      405  anything but POST
 ├─ BodyTooSlow           408  the body did not arrive in time
 ├─ PayloadTooLarge       413  more than GitHub ever sends
 ├─ ContentTypeRefused    415  not application/json
 └─ DeliveryNotStored     503  ours: the inbox cannot store it now, so it must not be acknowledged
"""

from typing import ClassVar

from bot.errors import PreviewError


class Refusal(PreviewError):
    """Why a delivery is not accepted: one sentence that never holds any of the body, so it may be logged and sent."""

    status: ClassVar[int]

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class PayloadInvalid(Refusal):
    """The headers or the JSON are not what GitHub sends."""

    status = 400


class SignatureRefused(Refusal):
    """The body is not signed, or not with the secret that the bot has."""

    status = 401


class MethodNotAllowed(Refusal):
    """GitHub only ever sends POST."""

    status = 405


class BodyTooSlow(Refusal):
    """The body did not arrive before the deadline."""

    status = 408


class PayloadTooLarge(Refusal):
    """The body is larger than GitHub's cap."""

    status = 413


class ContentTypeRefused(Refusal):
    """The webhook is set to another content type than `application/json`."""

    status = 415


class DeliveryNotStored(Refusal):
    """The delivery is good and could not be stored; GitHub keeps it for redelivery."""

    status = 503
