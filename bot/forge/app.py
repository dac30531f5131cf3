"""The ASGI application: REST below `/api/v3`, git at `/OWNER/REPO.git`, the admin API, and the pages."""

from typing import Any

import structlog
from litestar import Litestar, MediaType, Response, Router
from litestar.contrib.jinja import JinjaTemplateEngine
from litestar.datastructures import State as AppState
from litestar.di import Provide
from litestar.exceptions import HTTPException
from litestar.template import TemplateConfig
from litestar.types import ASGIApp, Message, Receive, Scope, Send

from bot.forge.admin import accounts, door, installations
from bot.forge.admin import faults as admin_faults
from bot.forge.errors import DOCUMENTATION, Refusal
from bot.forge.faults import with_faults
from bot.forge.forge import Forge
from bot.forge.git_http import with_git
from bot.forge.pages import ROUTES as PAGES
from bot.forge.pages import TEMPLATES, provide_forge
from bot.forge.rest import apps, checks, comments, deployments, hooks, issues, pulls, repositories, users
from bot.forge.rest.call import AnyRequest, provide_call, provide_repository
from bot.forge.rest.edge import with_rest_edge

MAX_BODY = 25 * 1024 * 1024
"""Bytes of a REST body; git streams and has no such limit."""

log = structlog.get_logger()


def create_app(forge: Forge) -> ASGIApp:
    """The forge as an ASGI application. Close `forge.outbox` when it is no longer served."""
    app = Litestar(
        route_handlers=[_rest(), _admin(), _pages()],
        state=AppState({"forge": forge}),
        template_config=TemplateConfig(directory=TEMPLATES, engine=JinjaTemplateEngine),
        exception_handlers={Refusal: _refused, HTTPException: _unroutable, Exception: _broken},
        request_max_body_size=MAX_BODY,
        openapi_config=None,
        logging_config=None,
    )
    return with_faults(with_git(with_rest_edge(_with_saving(app, forge), forge), forge), forge.faults)


def _rest() -> Router:
    rooms = (repositories, pulls, issues, comments, checks, deployments, hooks)
    below = [route for room in (*rooms, users) for route in room.REPOSITORY_ROUTES]
    repository = Router(
        "/repos/{owner:str}/{repo:str}",
        route_handlers=below,
        dependencies={"repository": Provide(provide_repository, sync_to_thread=False)},
    )
    routes: list[Any] = [*users.ROUTES, *apps.ROUTES, *hooks.ROUTES, repository]
    return Router("/api/v3", route_handlers=routes, dependencies={"call": Provide(provide_call, sync_to_thread=False)})


def _admin() -> Router:
    routes = [*accounts.ROUTES, *installations.ROUTES, *admin_faults.ROUTES]
    return Router(
        "/_forge", route_handlers=routes, dependencies={"admin": Provide(door.provide_admin, sync_to_thread=False)}
    )


def _pages() -> Router:
    return Router("/", route_handlers=PAGES, dependencies={"forge": Provide(provide_forge, sync_to_thread=False)})


def _with_saving(app: ASGIApp, forge: Forge) -> ASGIApp:
    """The same application, which writes its state down before it claims that something was done."""

    async def saving(scope: Scope, receive: Receive, send: Send) -> None:
        async def after_saving(message: Message) -> None:
            if message["type"] == "http.response.start" and scope["method"] not in ("GET", "HEAD"):  # type: ignore[typeddict-item]
                forge.save()
            await send(message)

        await app(scope, receive, after_saving)

    return saving


def _refused(_: AnyRequest, refusal: Refusal) -> Response[Any]:
    return Response(refusal.body, status_code=refusal.status, headers=refusal.headers, media_type=MediaType.JSON)


def _unroutable(_: AnyRequest, wrong: HTTPException) -> Response[Any]:
    """GitHub answers 404 to what it has no route for, whatever the method."""
    status = 404 if wrong.status_code in (404, 405) else wrong.status_code
    message = "Not Found" if status == 404 else wrong.detail
    body = {"message": message, "documentation_url": DOCUMENTATION, "status": str(status)}
    return Response(body, status_code=status, media_type=MediaType.JSON)


def _broken(request: AnyRequest, wrong: Exception) -> Response[Any]:
    log.error("a request failed", path=request.url.path, exc_info=wrong)
    return Response({"message": "Server Error"}, status_code=500, media_type=MediaType.JSON)
