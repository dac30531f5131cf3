"""Routes about drives: create or find, get, list, fork, delete."""

from collections.abc import Callable
from typing import Annotated, Any

from litestar import Request, Response, Router, delete, get, post
from litestar.params import QueryParameter

from bot.engine.api.answers import Json, drive_json, page_json
from bot.engine.api.doors import read_body
from bot.engine.errors import bad_request
from bot.engine.listing import Key, cut_page
from bot.engine.records import DriveRecord
from bot.engine.sandboxes import Sandboxes
from bot.engine.wire import DriveBody, DriveForkBody

AnyRequest = Request[Any, Any, Any]
_ORDERS: dict[str, Callable[[DriveRecord], Key]] = {
    "createdAt": lambda drive: (drive.created_at, drive.name),
    "updatedAt": lambda drive: (drive.updated_at, drive.name),
    "name": lambda drive: (drive.name, drive.name),
}


@get("/v2/sandboxes/drives")
async def list_drives(  # noqa: PLR0917 - each is a query parameter
    sandboxes: Sandboxes,
    limit: int | None = None,
    cursor: str | None = None,
    sort_by: Annotated[str, QueryParameter(name="sortBy")] = "createdAt",
    sort_order: Annotated[str, QueryParameter(name="sortOrder")] = "desc",
    name_prefix: Annotated[str, QueryParameter(name="namePrefix")] = "",
) -> Json:
    if sort_by not in _ORDERS:
        raise bad_request(f"cannot sort by {sort_by}")
    found = [drive for drive in sandboxes.drives.all() if drive.name.startswith(name_prefix)]
    page = cut_page(found, _ORDERS[sort_by], descending=sort_order != "asc", limit=limit, cursor=cursor)
    return page_json("drives", (_json(sandboxes, drive) for drive in page.items), page.following)


@post("/v2/sandboxes/drives/{name:str}")
async def get_or_create_drive(request: AnyRequest, sandboxes: Sandboxes, name: str) -> Response[Json]:
    """201 for a new one, 200 for one that was there."""
    body = await read_body(request, DriveBody)
    drive, created = sandboxes.drives.get_or_create(name, body.project_id, body.max_size_bytes)
    return Response({"drive": _json(sandboxes, drive)}, status_code=201 if created else 200)


@post("/v2/sandboxes/drives/{name:str}/fork", status_code=200)
async def fork_drive(request: AnyRequest, sandboxes: Sandboxes, name: str) -> Json:
    body = await read_body(request, DriveForkBody)
    return {"drive": _json(sandboxes, sandboxes.drives.fork(name, body.name))}


@get("/v2/sandboxes/drives/{name:str}")
async def get_drive(sandboxes: Sandboxes, name: str) -> Json:
    return {"drive": _json(sandboxes, sandboxes.drives.get(name))}


@delete("/v2/sandboxes/drives/{name:str}", status_code=200)
async def delete_drive(sandboxes: Sandboxes, name: str) -> Json:
    return {"drive": _json(sandboxes, sandboxes.drives.delete(name))}


def _json(sandboxes: Sandboxes, drive: DriveRecord) -> Json:
    return drive_json(drive, sandboxes.drives.writer(drive))


router = Router("/", route_handlers=[list_drives, get_or_create_drive, fork_drive, get_drive, delete_drive])
