"""The HTTP requests of one connection on their way out: held against its name and its rules, then passed on.

By hand and not with a proxy server, because a proxy's clients name their target, and here the target is fixed and the
client not to be trusted with it; h11 does the parsing and the framing on both sides.
"""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from urllib.parse import urlsplit

import h11
import structlog

from bot.engine.http_stream import HttpStream
from bot.engine.rules import CannedResponse, RequestHead, Rule, first_fit

log = structlog.get_logger()
# About one connection only (RFC 9110, section 7.6.1); h11 says what our own connections need.
_HOP_BY_HOP = frozenset({"connection", "keep-alive", "proxy-connection", "proxy-authorization", "te", "upgrade"})
_BODILESS = frozenset({204, 205, 304})
_MISDIRECTED = CannedResponse(421, (("content-type", "text/plain"),), "this connection was made for another host\n")
_UNCLEAR = CannedResponse(400, (("content-type", "text/plain"),), "the network policy does not allow such a target\n")
_UNREACHED = CannedResponse(502, (("content-type", "text/plain"),), "the host cannot be reached\n")

Dial = Callable[[str | None], Awaitable[HttpStream]]
Headers = list[tuple[str, str]]


@dataclass(frozen=True, slots=True)
class Site:
    """Where the sandbox believes to be connected. `secure` is whether it speaks TLS."""

    name: str
    port: int
    secure: bool
    rules: tuple[Rule, ...]

    def is_meant_by(self, host: str) -> bool:
        return host.rpartition("@")[2].partition(":")[0].rstrip(".").lower() == self.name

    def rule_for(self, head: RequestHead) -> Rule | None:
        """What to do with a request. Headers are set over TLS only: a secret does not travel in clear text."""
        rule = first_fit(self.rules, head)
        return None if rule and rule.headers and not self.secure else rule


class Exchange:
    """`dial` opens a connection to the site itself, or to the forward URL that it is given."""

    def __init__(self, client: HttpStream, site: Site, dial: Dial) -> None:
        self._client, self._site, self._dial = client, site, dial
        self._upstreams: dict[str | None, HttpStream] = {}

    async def carry(self) -> None:
        """Until one side ends. Raises `OSError` or `h11.ProtocolError` when a message breaks off."""
        try:
            while isinstance(request := await self._client.receive(), h11.Request):
                await self._serve(request)
                if not _starts_anew(self._client):
                    break
        except h11.RemoteProtocolError as error:
            log.debug("not a request", host=self._site.name, reason=str(error))
            if self._client.http.our_state in (h11.IDLE, h11.SEND_RESPONSE):
                await self._answer(_UNCLEAR, None)
        finally:
            for upstream in self._upstreams.values():
                upstream.abort()

    async def _serve(self, request: h11.Request) -> None:
        head = read_head(request)
        if refusal := refuse(self._site, head):
            await self._answer(refusal, request)
            return
        rule = self._site.rule_for(head)
        if rule and rule.response:
            await self._answer(rule.response, request)
            return
        forward = rule.forward_url if rule else None
        try:
            upstream = await self._upstream(forward)
        except OSError as error:
            log.debug("upstream not reached", host=self._site.name, reason=str(error))
            await self._answer(_UNREACHED, request)
            return
        await self._pass_on(outgoing(request, head, self._site, rule), upstream)
        if not _starts_anew(upstream):
            del self._upstreams[forward]
            await upstream.close()

    async def _upstream(self, forward: str | None) -> HttpStream:
        """A connection that is open still: servers close idle ones, of which the client here knows nothing."""
        upstream = self._upstreams.pop(forward, None)
        if upstream and upstream.is_over:
            await upstream.close()
            upstream = None
        self._upstreams[forward] = upstream or await self._dial(forward)
        return self._upstreams[forward]

    async def _pass_on(self, request: h11.Request, upstream: HttpStream) -> None:
        """One request and its response, both as they come."""
        await upstream.send(request)
        sending = asyncio.create_task(self._send_body(upstream))
        try:
            while True:
                event = await upstream.receive()
                if isinstance(event, h11.ConnectionClosed) or not isinstance(event, h11.Event):
                    raise ConnectionResetError("the upstream ended without an answer")
                await self._client.send(_for_client(event))
                if isinstance(event, h11.InformationalResponse) and event.status_code == 101:
                    await _splice(self._client, upstream)
                if isinstance(event, h11.EndOfMessage) or upstream.http.our_state is h11.SWITCHED_PROTOCOL:
                    return
        finally:
            sending.cancel()
            await asyncio.gather(sending, return_exceptions=True)

    async def _send_body(self, upstream: HttpStream) -> None:
        """As far as the upstream listens: one that answers early is still to be heard."""
        while True:
            try:
                event = await self._client.receive()
            except (OSError, h11.RemoteProtocolError):
                upstream.abort()  # it must not take the half for the whole
                raise
            if not isinstance(event, h11.Data | h11.EndOfMessage):
                return
            await upstream.send(event)

    async def _answer(self, response: CannedResponse, request: h11.Request | None) -> None:
        """Answer in the site's place, after hearing the request out so that the connection can go on."""
        waits = self._client.http.they_are_waiting_for_100_continue
        if request and not waits:
            while not isinstance(await self._client.receive(), h11.EndOfMessage | h11.ConnectionClosed):
                pass
        body = response.body.encode()
        headers: Headers = [*response.headers]
        if response.status not in _BODILESS:
            headers.append(("content-length", str(len(body))))
        await self._client.send(h11.Response(status_code=response.status, headers=headers))
        if body and not (request and request.method == b"HEAD"):
            await self._client.send(h11.Data(data=body))
        await self._client.send(h11.EndOfMessage())


def read_head(request: h11.Request) -> RequestHead:
    headers = tuple((name.decode("latin-1"), value.decode("latin-1")) for name, value in request.headers)
    return RequestHead(request.method.decode(), request.target.decode("latin-1"), headers)


def refuse(site: Site, head: RequestHead) -> CannedResponse | None:
    """What a request gets that is not for this site, or that cannot be told apart from one that is not allowed."""
    hosts = [value for name, value in head.headers if name == "host"]
    if len(hosts) != 1 or not site.is_meant_by(hosts[0]):
        return _MISDIRECTED
    if head.method == "CONNECT" or not head.target.startswith(("/", "*")):
        return _MISDIRECTED  # a whole URL in the request line would count for more than Host
    return _UNCLEAR if site.rules and not head.is_plain else None


def outgoing(request: h11.Request, head: RequestHead, site: Site, rule: Rule | None) -> h11.Request:
    """The request as the upstream gets it."""
    headers: Headers = [(name, value) for name, value in head.headers if name not in _HOP_BY_HOP]
    if _wants_websocket(head):
        headers += [("connection", "upgrade"), ("upgrade", "websocket")]
    target = head.target
    if rule and rule.forward_url:
        url = urlsplit(rule.forward_url)
        target = url.path.rstrip("/") + head.target
        headers = [pair for pair in headers if pair[0] != "host" and not pair[0].startswith("vercel-")]
        headers += [
            ("host", url.netloc),
            ("vercel-forwarded-host", site.name),
            ("vercel-forwarded-scheme", "https" if site.secure else "http"),
            ("vercel-forwarded-port", str(site.port)),
            ("vercel-forwarded-path", head.target),
        ]
    elif rule:
        replaced = {name for name, _ in rule.headers}
        headers = [pair for pair in headers if pair[0] not in replaced] + list(rule.headers)
    sent = [(name.encode(), value.encode("latin-1")) for name, value in headers]
    return h11.Request(method=request.method, target=target.encode("latin-1"), headers=sent)


def _wants_websocket(head: RequestHead) -> bool:
    return any(name == "upgrade" and value.lower() == "websocket" for name, value in head.headers)


def _for_client(event: h11.Event) -> h11.Event:
    """A response without what it says about its own connection; a change of protocol as it is."""
    if isinstance(event, h11.Response):
        kept = [(name, value) for name, value in event.headers if name.decode() not in _HOP_BY_HOP]
        return h11.Response(status_code=event.status_code, headers=kept, reason=event.reason)
    return event


def _starts_anew(stream: HttpStream) -> bool:
    if stream.http.our_state is not h11.DONE or stream.http.their_state is not h11.DONE:
        return False
    stream.http.start_next_cycle()
    return True


async def _splice(one: HttpStream, other: HttpStream) -> None:
    """Carry bytes both ways, whatever they are, until both ended."""
    await asyncio.gather(_carry(one, other), _carry(other, one))


async def _carry(source: HttpStream, target: HttpStream) -> None:
    if source.early:
        await target.write(source.early)
    while data := await source.read():
        await target.write(data)
    target.end()
