"""Routes about sandboxes by name: create, get, list, update, fork, destroy."""

from collections.abc import Callable
from typing import Annotated, Any

from litestar import Request, Router, delete, get, patch, post
from litestar.params import QueryParameter

from bot.engine.api.answers import Json, page_json, routes_json, sandbox_answer, sandbox_json, session_json
from bot.engine.api.doors import read_body
from bot.engine.errors import bad_request
from bot.engine.listing import Key, cut_page
from bot.engine.sandbox import Sandbox
from bot.engine.sandboxes import Sandboxes
from bot.engine.wire import CreateBody, UpdateBody

AnyRequest = Request[Any, Any, Any]

_ORDERS: dict[str, Callable[[Sandbox], Key]] = {
    "createdAt": lambda sandbox: (sandbox.record.created_at, sandbox.record.name),
    "name": lambda sandbox: (sandbox.record.name, sandbox.record.name),
    "statusUpdatedAt": lambda sandbox: (sandbox.record.status_updated_at, sandbox.record.name),
    "currentSnapshotId": lambda sandbox: (sandbox.record.current_snapshot or "", sandbox.record.name),
}


@post(["/v3/sandboxes", "/v2/sandboxes"], status_code=200)
async def create_sandbox(request: AnyRequest, sandboxes: Sandboxes) -> Json:
    sandbox = await sandboxes.create(await read_body(request, CreateBody))
    return sandbox_answer(sandbox, resumed=False)


@post("/v2/sandboxes/{name:str}/fork", status_code=200)
async def fork_sandbox(request: AnyRequest, sandboxes: Sandboxes, name: str) -> Json:
    return sandbox_answer(await sandboxes.fork(name, await read_body(request, CreateBody)), resumed=False)


@get("/v2/sandboxes")
async def list_sandboxes(  # noqa: PLR0917 - each is a query parameter
    sandboxes: Sandboxes,
    limit: int | None = None,
    cursor: str | None = None,
    sort_by: Annotated[str, QueryParameter(name="sortBy")] = "createdAt",
    sort_order: Annotated[str, QueryParameter(name="sortOrder")] = "desc",
    name_prefix: Annotated[str, QueryParameter(name="namePrefix")] = "",
    tags: list[str] | None = None,
) -> Json:
    if sort_by not in _ORDERS:
        raise bad_request(f"cannot sort by {sort_by}")
    wanted = [tag.partition(":")[::2] for tag in tags or []]
    found = [
        sandbox
        for sandbox in sandboxes.all()
        if sandbox.record.name.startswith(name_prefix)
        and all(sandbox.record.tags.get(key) == value for key, value in wanted)
    ]
    page = cut_page(found, _ORDERS[sort_by], descending=sort_order != "asc", limit=limit, cursor=cursor)
    return page_json("sandboxes", (sandbox_json(sandbox.record) for sandbox in page.items), page.following)


@get("/v2/sandboxes/{name:str}")
async def get_sandbox(sandboxes: Sandboxes, name: str, resume: bool = False) -> Json:
    if not resume:
        return sandbox_answer(sandboxes.get(name), resumed=False)
    sandbox, resumed = await sandboxes.resume(name)
    return sandbox_answer(sandbox, resumed=resumed)


@patch("/v2/sandboxes/{name:str}")
async def update_sandbox(request: AnyRequest, sandboxes: Sandboxes, name: str) -> Json:
    sandbox = sandboxes.get(name)
    sandboxes.update(sandbox, await read_body(request, UpdateBody))
    return {"sandbox": sandbox_json(sandbox.record), "routes": routes_json(sandbox)}


@delete("/v2/sandboxes/{name:str}", status_code=200)
async def destroy_sandbox(
    sandboxes: Sandboxes,
    name: str,
    with_snapshots: Annotated[bool, QueryParameter(name="deleteOrphanSnapshots")] = False,
) -> Json:
    sandbox = await sandboxes.destroy(name, with_snapshots=with_snapshots)
    record = sandbox.record
    return {
        "sandbox": sandbox_json(record),
        "session": session_json(record, record.session, record.policy),
    }


router = Router(
    "/",
    route_handlers=[
        *(create_sandbox, fork_sandbox, list_sandboxes, get_sandbox, update_sandbox, destroy_sandbox),
    ],
)
