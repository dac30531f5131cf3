"""The Sandbox API over HTTP, as the `vercel` SDK speaks it; the only part of the engine that knows litestar."""

from litestar import Litestar, Router, get
from litestar.di import Provide
from litestar.exceptions import HTTPException

from bot.engine.api import commands, doors, drives, interactive, sandboxes, sessions, snapshots
from bot.engine.errors import AgentGone, ApiError
from bot.engine.sandboxes import Sandboxes

PREFIX = "/api"


@get("/health", sync_to_thread=False)
def health() -> dict[str, str]:
    return {"status": "ok"}


def create_app(everything: Sandboxes, token: str) -> Litestar:
    """The ASGI application; `/health` is open, a terminal wants its ticket, and all else the token."""
    api = Router(
        PREFIX,
        route_handlers=[
            *(sandboxes.router, sessions.router, commands.router, interactive.router),
            *(snapshots.router, drives.router),
        ],
        guards=[doors.token_guard(token)],
    )
    tickets = interactive.Tickets()
    return Litestar(
        [health, api, interactive.carry_terminal],
        dependencies={
            "sandboxes": Provide(lambda: everything, sync_to_thread=False),
            "tickets": Provide(lambda: tickets, sync_to_thread=False),
        },
        exception_handlers={
            ApiError: doors.answer_api_error,
            AgentGone: doors.answer_agent_gone,
            HTTPException: doors.answer_http_error,
            Exception: doors.answer_defect,
        },
        openapi_config=None,
        logging_config=None,
    )
