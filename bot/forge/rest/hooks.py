"""A repository's hooks, and the delivery logs of hooks and of Apps."""

from typing import Any, Literal

from litestar import Response, delete, get, patch, post
from pydantic import Field

from bot.forge.access import HOOKS
from bot.forge.deliveries import Delivery, Target
from bot.forge.errors import BadRequest, NotFound, Unprocessable
from bot.forge.payloads import repository_ping
from bot.forge.records import Hook, Repository
from bot.forge.rest.apps import calling_app
from bot.forge.rest.call import MAX_PER_PAGE, Call, Input
from bot.forge.shapes import Json
from bot.forge.shapes.hooks import delivery as delivery_shape
from bot.forge.shapes.hooks import delivery_item
from bot.forge.shapes.hooks import hook as hook_shape
from bot.forge.state import now


class HookConfig(Input):
    """Where a hook delivers."""

    url: str = Field(min_length=1)
    content_type: Literal["json"] = "json"
    secret: str | None = None


class HookInput(Input):
    """What makes a hook. Only JSON deliveries are known here."""

    config: HookConfig
    events: tuple[str, ...] = ("push",)
    active: bool = True


class HookEditInput(Input):
    """What may change on a hook."""

    config: HookConfig | None = None
    events: tuple[str, ...] | None = None
    active: bool | None = None


def known(call: Call, repository: Repository, hook_id: int) -> Hook:
    """A hook of this repository. Raises NotFound."""
    hook = call.state.hooks.get(hook_id)
    if hook is None or hook.repo_id != repository.id:
        raise NotFound
    return hook


def _ping(call: Call, repository: Repository, hook: Hook) -> None:
    target = Target(type="repository", id=repository.id, hook_id=hook.id)
    call.forge.post(target, "ping", repository_ping(call.view, repository, hook, call.login), repository.id, None)


@get("/hooks", need=HOOKS)
async def list_hooks(call: Call, repository: Repository) -> Response[Any]:
    """A repository's hooks."""
    rows = [hook for hook in call.state.hooks.values() if hook.repo_id == repository.id]
    return call.page(rows, lambda row: hook_shape(call.view, repository, row))


@post("/hooks", need=HOOKS)
async def create_hook(call: Call, repository: Repository) -> Response[Json]:
    """A new hook, which is pinged."""
    wanted, moment = await call.body(HookInput), now()
    same = [h for h in call.state.hooks.values() if (h.repo_id, h.url) == (repository.id, wanted.config.url)]
    if any(set(hook.events) == set(wanted.events) for hook in same):
        raise Unprocessable.custom("Hook", "Hook already exists on this repository")
    hook = Hook(
        id=call.state.new_id(),
        repo_id=repository.id,
        url=wanted.config.url,
        secret=wanted.config.secret,
        events=wanted.events,
        active=wanted.active,
        created_at=moment,
        updated_at=moment,
    )
    call.state.hooks[hook.id] = hook
    _ping(call, repository, hook)
    return Response(hook_shape(call.view, repository, hook), status_code=201)


@get("/hooks/{hook_id:int}", need=HOOKS)
async def get_hook(call: Call, repository: Repository, hook_id: int) -> Json:
    """One hook."""
    return hook_shape(call.view, repository, known(call, repository, hook_id))


@patch("/hooks/{hook_id:int}", need=HOOKS)
async def update_hook(call: Call, repository: Repository, hook_id: int) -> Json:
    """Change where a hook delivers, what, or whether."""
    hook, wanted = known(call, repository, hook_id), await call.body(HookEditInput)
    place = {"url": wanted.config.url, "secret": wanted.config.secret} if wanted.config else {}
    rest = wanted.model_dump(exclude_none=True, exclude={"config"})
    call.state.hooks[hook.id] = hook = hook.model_copy(update={**place, **rest, "updated_at": now()})
    return hook_shape(call.view, repository, hook)


@delete("/hooks/{hook_id:int}", need=HOOKS)
async def remove_hook(call: Call, repository: Repository, hook_id: int) -> None:
    """Delete a hook."""
    del call.state.hooks[known(call, repository, hook_id).id]


@post("/hooks/{hook_id:int}/pings", need=HOOKS, status_code=204)
async def ping_hook(call: Call, repository: Repository, hook_id: int) -> None:
    """Ping a hook again."""
    _ping(call, repository, known(call, repository, hook_id))


@get("/hooks/{hook_id:int}/deliveries", need=HOOKS)
async def list_hook_deliveries(call: Call, repository: Repository, hook_id: int) -> Response[Any]:
    """What a hook was told, newest first."""
    return _page(call, _of(call, "repository", known(call, repository, hook_id).id))


@get("/hooks/{hook_id:int}/deliveries/{delivery_id:int}", need=HOOKS)
async def get_hook_delivery(call: Call, repository: Repository, hook_id: int, delivery_id: int) -> Json:
    """One delivery with its request and response."""
    return delivery_shape(_one(call, "repository", known(call, repository, hook_id).id, delivery_id))


@post("/hooks/{hook_id:int}/deliveries/{delivery_id:int}/attempts", need=HOOKS, status_code=202)
async def redeliver_hook_delivery(call: Call, repository: Repository, hook_id: int, delivery_id: int) -> Json:
    """Send a delivery again."""
    call.forge.redeliver(_one(call, "repository", known(call, repository, hook_id).id, delivery_id))
    return {}


@get("/app/hook/deliveries")
async def list_app_deliveries(call: Call) -> Response[Any]:
    """What the App's hook was told, newest first."""
    return _page(call, _of(call, "integration", calling_app(call).id))


@get("/app/hook/deliveries/{delivery_id:int}")
async def get_app_delivery(call: Call, delivery_id: int) -> Json:
    """One delivery with its request and response."""
    return delivery_shape(_one(call, "integration", calling_app(call).id, delivery_id))


@post("/app/hook/deliveries/{delivery_id:int}/attempts", status_code=202)
async def redeliver_app_delivery(call: Call, delivery_id: int) -> Json:
    """Send a delivery again."""
    call.forge.redeliver(_one(call, "integration", calling_app(call).id, delivery_id))
    return {}


def _of(call: Call, kind: str, hook_id: int) -> list[Delivery]:
    log = call.forge.outbox.log.values()
    sent = [row for row in log if (row.target.type, row.target.hook_id) == (kind, hook_id)]
    return [row for row in sent if row.status not in ("pending", "held")][::-1]


def _one(call: Call, kind: str, hook_id: int, delivery_id: int) -> Delivery:
    for row in _of(call, kind, hook_id):
        if row.id == delivery_id:
            return row
    raise NotFound


def _page(call: Call, rows: list[Delivery]) -> Response[Any]:
    """Deliveries are paged by a cursor, since new ones arrive at the front: the cursor is the next row's id."""
    query = call.request.query_params
    size, cursor = query.get("per_page", "30"), query.get("cursor", "")
    if not size.isdigit() or (cursor and not cursor.isdigit()):
        raise BadRequest("Invalid cursor")
    rest = [row for row in rows if not cursor or row.id <= int(cursor)]
    shown, left = rest[: min(int(size), MAX_PER_PAGE)], rest[min(int(size), MAX_PER_PAGE) :]
    address = f"{call.forge.urls.root}{call.request.url.path}?per_page={size}&cursor="
    headers = {"Link": f'<{address}{left[0].id}>; rel="next"'} if left else {}
    return Response([delivery_item(row) for row in shown], headers=headers)


REPOSITORY_ROUTES = [
    list_hooks,
    create_hook,
    get_hook,
    update_hook,
    remove_hook,
    ping_hook,
    list_hook_deliveries,
    get_hook_delivery,
    redeliver_hook_delivery,
]
ROUTES = [list_app_deliveries, get_app_delivery, redeliver_app_delivery]
