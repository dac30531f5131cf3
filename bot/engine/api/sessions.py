"""Routes about one session of a sandbox: stop, extend, policy, files."""

from collections.abc import AsyncIterator
from typing import Annotated, Any

from litestar import Request, Router, get, post
from litestar.params import QueryParameter
from litestar.response import Stream

from bot.engine import files
from bot.engine.api.answers import Json, page_json, routes_json, sandbox_json, session_json, snapshot_json
from bot.engine.api.doors import read_body
from bot.engine.errors import bad_request, not_found
from bot.engine.listing import cut_page
from bot.engine.policy_body import PolicyBody
from bot.engine.records import SessionRecord
from bot.engine.sandbox import Sandbox
from bot.engine.sandboxes import Sandboxes
from bot.engine.wire import ExtendBody, PathBody

AnyRequest = Request[Any, Any, Any]


@get("/v2/sandboxes/sessions")
async def list_sessions(
    sandboxes: Sandboxes,
    name: str | None = None,
    limit: int | None = None,
    cursor: str | None = None,
    sort_order: Annotated[str, QueryParameter(name="sortOrder")] = "desc",
) -> Json:
    asked = sandboxes.all() if name is None else [sandboxes.get(name)]
    found = [(sandbox, session) for sandbox in asked for session in sandbox.record.sessions]
    page = cut_page(
        found,
        lambda pair: (pair[1].requested_at, pair[1].id),
        descending=sort_order != "asc",
        limit=limit,
        cursor=cursor,
    )
    listed = (session_json(sandbox.record, session, sandbox.policy) for sandbox, session in page.items)
    return page_json("sessions", listed, page.following)


@get("/v2/sandboxes/sessions/{session_id:str}")
async def get_session(sandboxes: Sandboxes, session_id: str) -> Json:
    sandbox = sandboxes.of_session(session_id)
    return {**_session_answer(sandbox, session_id), "routes": routes_json(sandbox)}


@post("/v2/sandboxes/sessions/{session_id:str}/stop", status_code=200)
async def stop_session(sandboxes: Sandboxes, session_id: str) -> Json:
    """An earlier session is stopped already, and so may be the current one: that is success as well."""
    sandbox = sandboxes.of_session(session_id)
    taken = await sandbox.stop() if sandbox.record.session.id == session_id else None
    snapshot = {"snapshot": snapshot_json(taken)} if taken else {}
    return {**_session_answer(sandbox, session_id), "sandbox": sandbox_json(sandbox.record), **snapshot}


@post("/v2/sandboxes/sessions/{session_id:str}/extend-timeout", status_code=200)
async def extend_timeout(request: AnyRequest, sandboxes: Sandboxes, session_id: str) -> Json:
    body = await read_body(request, ExtendBody)
    sandbox = sandboxes.of_session(session_id)
    await sandbox.running(session_id)
    sandbox.extend(body.duration)
    return _session_answer(sandbox, session_id)


@post("/v2/sandboxes/sessions/{session_id:str}/network-policy", status_code=200)
async def change_network_policy(request: AnyRequest, sandboxes: Sandboxes, session_id: str) -> Json:
    body = await read_body(request, PolicyBody)
    sandbox = sandboxes.of_session(session_id)
    box = await sandbox.running(session_id)
    box.egress.change_policy(body.parse())
    return _session_answer(sandbox, session_id)


@post("/v2/sandboxes/sessions/{session_id:str}/fs/mkdir", status_code=200)
async def make_directory(request: AnyRequest, sandboxes: Sandboxes, session_id: str) -> Json:
    body = await read_body(request, PathBody)
    sandbox = sandboxes.of_session(session_id)
    box = await sandbox.running(session_id)
    path, owner = _absolute(sandbox, body), sandbox.workshop.owner
    await files.make_directory(box, path, recursive=body.recursive, owner=owner, env=sandbox.environment)
    return {}


@post("/v2/sandboxes/sessions/{session_id:str}/fs/read", status_code=200)
async def read_file(request: AnyRequest, sandboxes: Sandboxes, session_id: str) -> Stream:
    body = await read_body(request, PathBody)
    sandbox = sandboxes.of_session(session_id)
    box = await sandbox.running(session_id)
    return Stream(await files.read_file(box, _absolute(sandbox, body)), media_type="application/octet-stream")


@post("/v2/sandboxes/sessions/{session_id:str}/fs/write", status_code=200, request_max_body_size=None)
async def write_files(request: AnyRequest, sandboxes: Sandboxes, session_id: str) -> Json:
    folder = request.headers.get("x-cwd", "/")
    if not folder.startswith("/"):
        raise bad_request("x-cwd must be an absolute path")
    sandbox = sandboxes.of_session(session_id)
    box = await sandbox.running(session_id)
    archive: AsyncIterator[bytes] = request.stream()
    await files.write_files(box, archive, folder, owner=sandbox.workshop.owner, env=sandbox.environment)
    return {}


def _session_answer(sandbox: Sandbox, session_id: str) -> Json:
    session: SessionRecord | None = next((one for one in sandbox.record.sessions if one.id == session_id), None)
    if session is None:
        raise not_found(f"session {session_id}")
    return {"session": session_json(sandbox.record, session, sandbox.policy)}


def _absolute(sandbox: Sandbox, body: PathBody) -> str:
    return body.path if body.path.startswith("/") else f"{sandbox.place(body.cwd)}/{body.path}"


router = Router(
    "/",
    route_handlers=[
        *(list_sessions, get_session, stop_session, extend_timeout, change_network_policy),
        *(make_directory, read_file, write_files),
    ],
)
