"""The Sandbox API over HTTP, as the `vercel` SDK speaks it; the only part of the engine that knows litestar."""

from typing import Any

from litestar import Litestar, Request, Router, get, post
from litestar.di import Provide
from litestar.exceptions import HTTPException

from bot.engine.api import commands, doors, sandboxes, sessions, snapshots
from bot.engine.errors import AgentGone, ApiError, bad_request
from bot.engine.sandboxes import Sandboxes

PREFIX = "/api"


@get("/health", sync_to_thread=False)
def health() -> dict[str, str]:
    return {"status": "ok"}


@post(
    [
        "/v2/sandboxes/sessions/{session_id:str}/interactive",
    ],
    sync_to_thread=False,
)
def refuse_what_is_not_supported(request: Request[Any, Any, Any]) -> None:
    raise bad_request(f"{request.url.path.rpartition('/')[2]} is not supported by this engine", "not_supported")


def create_app(everything: Sandboxes, token: str) -> Litestar:
    """The ASGI application; `/health` is open, all else wants the token."""

    def provide_sandboxes() -> Sandboxes:
        return everything

    api = Router(
        PREFIX,
        route_handlers=[
            *(sandboxes.router, sessions.router, commands.router, snapshots.router),
            refuse_what_is_not_supported,
        ],
        guards=[doors.token_guard(token)],
        dependencies={"sandboxes": Provide(provide_sandboxes, sync_to_thread=False)},
    )
    return Litestar(
        [health, api],
        exception_handlers={
            ApiError: doors.answer_api_error,
            AgentGone: doors.answer_agent_gone,
            HTTPException: doors.answer_http_error,
            Exception: doors.answer_defect,
        },
        openapi_config=None,
        logging_config=None,
    )
