"""Git over HTTP: `git http-backend` as a process per request, streaming both ways.

By hand, since it is the protocol's own implementation that should answer: https://git-scm.com/docs/git-http-backend
"""

import asyncio
import re
from collections.abc import AsyncIterator
from urllib.parse import parse_qs

import structlog
from litestar.enums import ScopeType
from litestar.types import ASGIApp, HTTPScope, Receive, Scope, Send

from bot.forge.access import CONTENTS_READ, CONTENTS_WRITE, METADATA_READ, demand
from bot.forge.callers import Caller, identify
from bot.forge.errors import Forbidden, NotFound, Refusal, Unauthorized
from bot.forge.forge import Forge
from bot.forge.git import environment
from bot.forge.pushes import announce_moves
from bot.forge.records import Repository
from bot.forge.state import now

PATH = re.compile(
    r"^/(?P<owner>[^/]+)/(?P<name>[^/]+?)(\.git)?(?P<rest>/(info/refs|git-upload-pack|git-receive-pack))$"
)
CHUNK = 64 * 1024
CHALLENGE = [(b"www-authenticate", b'Basic realm="GitHub"')]

log = structlog.get_logger()


def with_git(app: ASGIApp, forge: Forge) -> ASGIApp:
    """The same application, which also speaks git. Litestar's raw routes take no path parameters, hence here."""

    async def speaking(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == ScopeType.HTTP and PATH.match(scope["path"]):
            await serve_git(forge, scope, receive, send)
        else:
            await app(scope, receive, send)

    return speaking


async def serve_git(forge: Forge, scope: HTTPScope, receive: Receive, send: Send) -> None:
    """Answer one request of the smart protocol. A push's events are told before its answer ends."""
    try:
        caller, repository = _admit(forge, scope)
    except Refusal as refusal:
        challenge = CHALLENGE if isinstance(refusal, Unauthorized) else []
        await _plain(send, refusal.status, refusal.message, challenge)
        return
    variables = _cgi(forge, repository, caller, scope)
    if scope["path"].endswith("/git-receive-pack"):
        async with forge.git.lock(repository.id):
            before = await forge.git.refs(repository.id)
            await _backend(variables, receive, send)
            await announce_moves(forge, repository, before, caller.login or repository.owner)
            forge.save()
    else:
        await _backend(variables, receive, send)
    await send({"type": "http.response.body", "body": b"", "more_body": False})


def _admit(forge: Forge, scope: HTTPScope) -> tuple[Caller, Repository]:
    """Who calls, for which repository. Raises a Refusal."""
    match = PATH.match(scope["path"])
    if match is None:
        raise NotFound
    writes = "git-receive-pack" in (match["rest"][1:], *parse_qs(scope["query_string"].decode()).get("service", []))
    need = CONTENTS_WRITE if writes else CONTENTS_READ
    caller = identify(forge.state, _header(scope, b"authorization"), now())
    repository = forge.state.repository_once(f"{match['owner']}/{match['name']}")
    if repository is None or not _visible(forge, caller, repository):
        raise Unauthorized("Authentication required") if caller.anonymous else NotFound
    demand(forge.state, caller, repository, need)
    if writes and repository.archived:
        raise Forbidden("This repository was archived so it is read-only.")
    return caller, repository


def _visible(forge: Forge, caller: Caller, repository: Repository) -> bool:
    """Whether the caller may know of a repository. One who brings no credentials is asked for some either way."""
    try:
        demand(forge.state, caller, repository, METADATA_READ)
    except NotFound:
        return False
    return True


async def _backend(variables: dict[str, str], receive: Receive, send: Send) -> None:
    """Run http-backend on the request and send its answer, but for the very end."""
    pipe = asyncio.subprocess.PIPE
    process = await asyncio.create_subprocess_exec(
        "git", "http-backend", stdin=pipe, stdout=pipe, stderr=pipe, env=variables
    )
    if process.stdin is None or process.stdout is None or process.stderr is None:
        raise RuntimeError("git http-backend has no pipes")
    feeding = asyncio.create_task(_feed(receive, process.stdin))
    complaint = asyncio.create_task(process.stderr.read())
    try:
        await _respond(process.stdout, send)
        await process.wait()
    finally:
        feeding.cancel()
        if process.returncode is None:
            process.kill()
            await process.wait()
        await asyncio.gather(feeding, return_exceptions=True)
        if said := (await complaint).decode(errors="replace").strip():
            log.info("git http-backend", path=variables["PATH_INFO"], said=said)


async def _feed(receive: Receive, stdin: asyncio.StreamWriter) -> None:
    try:
        async for chunk in _body(receive):
            stdin.write(chunk)
            await stdin.drain()
    except ConnectionError:
        log.debug("git closed its input early")
    finally:
        stdin.close()


async def _body(receive: Receive) -> AsyncIterator[bytes]:
    more = True
    while more:
        message = await receive()
        if message["type"] != "http.request":
            return
        yield message.get("body", b"")
        more = message.get("more_body", False)


async def _respond(stdout: asyncio.StreamReader, send: Send) -> None:
    status, headers = 200, []
    while line := (await stdout.readline()).strip():
        name, _, value = line.partition(b":")
        if name.lower() == b"status":
            status = int(value.split()[0])
        else:
            headers.append((name.lower(), value.strip()))
    await send({"type": "http.response.start", "status": status, "headers": headers})
    while chunk := await stdout.read(CHUNK):
        await send({"type": "http.response.body", "body": chunk, "more_body": True})


def _cgi(forge: Forge, repository: Repository, caller: Caller, scope: HTTPScope) -> dict[str, str]:
    match = PATH.match(scope["path"])
    variables = {
        "GIT_PROJECT_ROOT": str(forge.git.root),
        "GIT_HTTP_EXPORT_ALL": "1",
        "PATH_INFO": f"/{repository.id}.git{match['rest'] if match else ''}",
        "QUERY_STRING": scope["query_string"].decode("latin-1"),
        "REQUEST_METHOD": scope["method"],
        "REMOTE_USER": caller.login or "",
        "REMOTE_ADDR": scope["client"][0] if scope["client"] else "",
        "CONTENT_TYPE": _header(scope, b"content-type"),
        "CONTENT_LENGTH": _header(scope, b"content-length"),
        "HTTP_CONTENT_ENCODING": _header(scope, b"content-encoding"),
        "GIT_PROTOCOL": _header(scope, b"git-protocol"),
    }
    return {**environment(), **{name: value for name, value in variables.items() if value}}


def _header(scope: HTTPScope, name: bytes) -> str:
    return next((value.decode("latin-1") for key, value in scope["headers"] if key == name), "")


async def _plain(send: Send, status: int, text: str, extra: list[tuple[bytes, bytes]]) -> None:
    body = f"{text}\n".encode()
    headers = [(b"content-type", b"text/plain; charset=utf-8"), (b"content-length", str(len(body)).encode()), *extra]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body, "more_body": False})
