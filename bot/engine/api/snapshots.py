"""Routes about snapshots: take, list, get, delete, and the family tree of one."""

from typing import Annotated, Any

from litestar import Request, Router, delete, get, post
from litestar.params import QueryParameter

from bot.engine.api.answers import Json, page_json, session_json, snapshot_json
from bot.engine.api.doors import read_body
from bot.engine.family import Snapshots, ancestors, descendants, siblings
from bot.engine.listing import MOST_ITEMS, USUAL_ITEMS, cut_page
from bot.engine.records import SnapshotRecord
from bot.engine.sandboxes import Sandboxes
from bot.engine.wire import SnapshotBody


@post("/v2/sandboxes/sessions/{session_id:str}/snapshot", status_code=200)
async def take_snapshot(request: Request[Any, Any, Any], sandboxes: Sandboxes, session_id: str) -> Json:
    body = await read_body(request, SnapshotBody)
    sandbox = sandboxes.of_session(session_id)
    taken = await sandbox.snapshot(session_id, body.expiration)
    session = next(one for one in sandbox.record.sessions if one.id == session_id)
    return {"snapshot": snapshot_json(taken), "session": session_json(sandbox.record, session, sandbox.policy)}


@get("/v2/sandboxes/snapshots")
async def list_snapshots(
    sandboxes: Sandboxes,
    name: str | None = None,
    limit: int | None = None,
    cursor: str | None = None,
    sort_order: Annotated[str, QueryParameter(name="sortOrder")] = "desc",
) -> Json:
    found = [one for one in sandboxes.snapshots.all() if name is None or one.sandbox_name == name]
    page = cut_page(
        found, lambda one: (one.created_at, one.id), descending=sort_order != "asc", limit=limit, cursor=cursor
    )
    return page_json("snapshots", map(snapshot_json, page.items), page.following)


@get("/v2/sandboxes/snapshots/tree")
async def show_tree(
    sandboxes: Sandboxes,
    snapshot_id: Annotated[str, QueryParameter(name="snapshotId")],
    limit: int | None = None,
    sort_order: Annotated[str, QueryParameter(name="sortOrder")] = "desc",
) -> Json:
    """The snapshots that one was made from, or with `asc` those made from it; a page goes on from its last one."""
    anchor, everyone = sandboxes.snapshots.get(snapshot_id), sandboxes.snapshots.by_id
    line = (descendants if sort_order == "asc" else ancestors)(anchor, everyone)
    size = max(1, min(limit or USUAL_ITEMS, MOST_ITEMS))
    page = page_json("snapshots", (_node(one, everyone) for one in line[:size]), None)
    page["pagination"]["next"] = line[size - 1].id if len(line) > size else None
    return {**page, "anchor": _node(anchor, everyone)}


@get("/v2/sandboxes/snapshots/{snapshot_id:str}")
async def get_snapshot(sandboxes: Sandboxes, snapshot_id: str) -> Json:
    return {"snapshot": snapshot_json(sandboxes.snapshots.get(snapshot_id))}


@delete("/v2/sandboxes/snapshots/{snapshot_id:str}", status_code=200)
async def delete_snapshot(sandboxes: Sandboxes, snapshot_id: str) -> Json:
    return {"snapshot": {**snapshot_json(sandboxes.snapshots.delete(snapshot_id)), "status": "deleted"}}


def _node(one: SnapshotRecord, everyone: Snapshots) -> Json:
    others = [snapshot_json(sibling) for sibling in siblings(one, everyone)]
    return {"snapshot": snapshot_json(one), "siblings": others, "count": str(len(others))}


router = Router("/", route_handlers=[take_snapshot, list_snapshots, show_tree, get_snapshot, delete_snapshot])
