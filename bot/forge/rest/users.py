"""Users, and what each may do in a repository."""

from typing import Any

from litestar import get

from bot.forge.access import METADATA_READ, role_of
from bot.forge.errors import Forbidden, NotFound
from bot.forge.records import Repository, User
from bot.forge.rest.call import Call
from bot.forge.shapes import Json
from bot.forge.shapes.users import collaborator_permission, public_user


def _known(call: Call, login: str) -> User:
    user = call.state.user(login)
    if user is None:
        raise NotFound
    return user


@get("/user")
async def get_authenticated_user(call: Call) -> Json:
    """Who the token belongs to; an installation is no user."""
    if call.caller.app:
        raise Forbidden("Resource not accessible by integration")
    return public_user(call.view, _known(call, call.login))


@get("/users/{login:str}")
async def get_user(call: Call, login: str) -> Json:
    """A user by login."""
    return public_user(call.view, _known(call, login))


@get("/collaborators/{login:str}/permission", need=METADATA_READ)
async def get_permission(call: Call, repository: Repository, login: str) -> Json:
    """A person's permission in a repository."""
    user = _known(call, login)
    return collaborator_permission(call.view, user, role_of(user.login, repository))


@get("/rate_limit")
async def get_rate_limit(call: Call) -> Json:
    """How much of the hour's allowance is left."""
    core: dict[str, Any] = call.forge.rates.peek(call.request.headers.get("authorization", "")).body()
    return {"resources": {"core": core, "search": core, "graphql": core}, "rate": core}


ROUTES = [get_authenticated_user, get_user, get_rate_limit]
REPOSITORY_ROUTES = [get_permission]
