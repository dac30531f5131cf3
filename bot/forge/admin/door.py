"""Who may use the admin API, and how it finds what it is asked about."""

import hmac

from pydantic import BaseModel, ConfigDict

from bot.forge.callers import Caller
from bot.forge.errors import NotFound, Unauthorized
from bot.forge.forge import Forge
from bot.forge.records import Repository
from bot.forge.rest.call import AnyRequest, Call


class AdminInput(BaseModel):
    """A body of the admin API. A field that it does not know is a mistake in a test, and refused."""

    model_config = ConfigDict(frozen=True, extra="forbid")


def provide_admin(request: AnyRequest) -> Call:
    """The call of an admin. Raises Unauthorized for anybody else."""
    forge: Forge = request.app.state["forge"]
    told = request.headers.get("authorization", "")
    if not hmac.compare_digest(told.encode(), f"Bearer {forge.admin_token}".encode()):
        raise Unauthorized("Bad credentials")
    return Call(forge, request, Caller())


def repository_named(call: Call, full_name: str) -> Repository:
    """A repository by `owner/name`. Raises NotFound."""
    repository = call.state.repository(full_name)
    if repository is None:
        raise NotFound
    return repository
