"""HTTP to a preview's URL: asks what a person's browser would ask, and trusts no answer.

What answers is a repository's code, and what asks can reach more than a sandbox may. So no redirect is followed, not
even of a WebSocket's handshake, and nothing is unpacked: a few hundred bytes can unpack to more than there is memory.
"""

from types import TracebackType
from typing import Self
from urllib.parse import urlsplit, urlunsplit

import httpx
from websockets.asyncio.client import connect
from websockets.exceptions import WebSocketException
from websockets.typing import Subprotocol

from bot.readiness import Answer

BODY_BYTES = 262_144
"""How much of a page is read to know an error page."""


class NoAnswer(Exception):
    """Nobody answers there yet; the text says how it failed."""


class Probe:
    """Asks one preview. The first answer may take as long as a cold compile, connecting may not."""

    def __init__(self, first_byte: float) -> None:
        limits = httpx.Timeout(5, read=first_byte)
        headers = {"Accept": "text/html,*/*", "Accept-Encoding": "identity"}
        self._client = httpx.AsyncClient(timeout=limits, follow_redirects=False, headers=headers)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, kind: type[BaseException] | None, value: object, trace: TracebackType | None) -> None:
        await self._client.aclose()

    async def ask(self, url: str, path: str) -> Answer:
        """GET `path` at the preview's URL. Raises NoAnswer."""
        body = b""
        try:
            async with self._client.stream("GET", url.rstrip("/") + "/" + path.lstrip("/")) as response:
                async for chunk in response.aiter_raw():
                    body += chunk
                    if len(body) >= BODY_BYTES:
                        break
                return Answer(response.status_code, body[:BODY_BYTES].decode("utf-8", "replace"))
        except (httpx.HTTPError, httpx.InvalidURL, AttributeError) as error:
            # AttributeError: uvloop has no socket any more for a connection that was reset right after it was made, as
            # a route does while nothing listens behind it; anyio asks that socket for its peer all the same.
            raise NoAnswer(f"{type(error).__name__}: {error}") from error


async def socket_opens(url: str, path: str, protocol: str | None) -> bool:
    """Whether a WebSocket upgrade passes, as the page's live reload will ask for it."""
    parts = urlsplit(url)
    target = urlunsplit(("wss" if parts.scheme == "https" else "ws", parts.netloc, path, "", ""))
    protocols = [Subprotocol(protocol)] if protocol else None
    try:
        async with _Connect(target, subprotocols=protocols, open_timeout=5, close_timeout=1, proxy=None):
            return True
    except (OSError, TimeoutError, WebSocketException):
        return False


class _Connect(connect):
    """A handshake that goes where it was sent: https://websockets.readthedocs.io/en/stable/reference/asyncio/client.html"""

    def process_redirect(self, exc: Exception) -> Exception | str:
        return exc
