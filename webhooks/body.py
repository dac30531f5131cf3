"""A request's body as it arrives: limited in size, alone and together with all other unfinished ones."""

from dataclasses import dataclass

from litestar.types import Receive

from webhooks.delivery import MAX_BODY_BYTES, Headers
from webhooks.refusals import DeliveryNotStored, PayloadTooLarge


class ClientGone(Exception):
    """The sender hung up before its body was complete: nobody is left to answer."""


@dataclass(slots=True)
class Buffer:
    """The memory that all bodies share. Who sends is not known before the last byte, so it must not grow."""

    limit: int = 10 * MAX_BODY_BYTES
    used: int = 0


class Body:
    """One body. `complete` tells whether anything of it is still on its way; `release` gives its memory back."""

    __slots__ = ("_buffer", "_held", "_receive", "complete")

    def __init__(self, receive: Receive, buffer: Buffer) -> None:
        self._receive = receive
        self._buffer = buffer
        self._held = 0
        self.complete = False

    async def read(self, headers: Headers) -> bytes:
        """All of it. Raises PayloadTooLarge as early as that is known, DeliveryNotStored, ClientGone."""
        announced = headers.get(b"content-length", b"")
        if announced.isdigit() and int(announced) > MAX_BODY_BYTES:
            raise PayloadTooLarge(f"the body is larger than {MAX_BODY_BYTES} bytes")
        chunk = await self._next()
        if self.complete:
            return chunk
        chunks = [chunk]
        while not self.complete:
            chunks.append(await self._next())
        return b"".join(chunks)

    async def discard(self) -> None:
        """Read what still comes and keep none of it.

        A socket that is closed with unread bytes in it takes the answer down with it (RFC 9112, section 9.6).
        """
        while not self.complete:
            await self._message()

    def release(self) -> None:
        """Give the memory back."""
        self._buffer.used -= self._held
        self._held = 0

    async def _next(self) -> bytes:
        chunk = await self._message()
        self._held += len(chunk)
        self._buffer.used += len(chunk)
        if self._held > MAX_BODY_BYTES:
            raise PayloadTooLarge(f"the body is larger than {MAX_BODY_BYTES} bytes")
        if self._buffer.used > self._buffer.limit:
            raise DeliveryNotStored("too many large deliveries arrive at once")
        return chunk

    async def _message(self) -> bytes:
        message = await self._receive()
        if message["type"] != "http.request":
            self.complete = True
            raise ClientGone
        self.complete = not message["more_body"]
        return message["body"]
