"""What every call passes: the token on the way in, a checked body, and errors in the API's shape on the way out."""

import hmac
from typing import TypeVar

import structlog
from litestar import Request, Response
from litestar.connection import ASGIConnection
from litestar.exceptions import HTTPException
from litestar.handlers import BaseRouteHandler
from litestar.types import Guard
from pydantic import BaseModel, ValidationError

from bot.engine.api.answers import error_json
from bot.engine.errors import AgentGone, ApiError, bad_request

log = structlog.get_logger()
Body = TypeVar("Body", bound=BaseModel)
_CODES = {401: "unauthorized", 403: "forbidden", 404: "not_found", 405: "method_not_allowed"}


def token_guard(token: str) -> Guard:
    """Let in who shows the token, compared in constant time."""
    expected = f"Bearer {token}".encode()

    def require_token(connection: ASGIConnection, _: BaseRouteHandler) -> None:  # type: ignore[type-arg]
        shown = connection.headers.get("authorization", "").encode()
        if not hmac.compare_digest(shown, expected):
            raise ApiError(401, "unauthorized", "a valid bearer token is needed")

    return require_token


async def read_body(request: Request, kind: type[Body]) -> Body:  # type: ignore[type-arg]
    """The body as a `kind`; an empty one counts as `{}`. Raises `ApiError` 400 naming the first field that is wrong."""
    try:
        return kind.model_validate_json(await request.body() or b"{}")
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        place = ".".join(str(part) for part in first["loc"])
        raise bad_request(f"{place}: {first['msg']}" if place else first["msg"]) from error


def answer_api_error(_: Request, error: ApiError) -> Response:  # type: ignore[type-arg]
    return Response(error_json(error.code, error.message), status_code=error.status)


def answer_agent_gone(_: Request, __: AgentGone) -> Response:  # type: ignore[type-arg]
    """The sandbox ended in the middle of a call: as good as having been stopped before it."""
    return Response(error_json("sandbox_stopped", "the sandbox ended during the call"), status_code=410)


def answer_http_error(_: Request, error: HTTPException) -> Response:  # type: ignore[type-arg]
    code = _CODES.get(error.status_code, "bad_request")
    return Response(error_json(code, error.detail or code), status_code=error.status_code)


def answer_defect(request: Request, error: Exception) -> Response:  # type: ignore[type-arg]
    log.error("defect in the engine", path=request.url.path, exc_info=error)
    return Response(error_json("internal_error", "the engine failed; its log says how"), status_code=500)
