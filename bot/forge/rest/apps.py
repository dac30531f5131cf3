"""What an App does as itself (with a JWT), and what an installation finds out about itself (with its token)."""

from typing import Any

from litestar import Response, delete, get, patch, post
from pydantic import Field

from bot.forge import apps
from bot.forge.access import reaches
from bot.forge.errors import Forbidden, NotFound, Unauthorized
from bot.forge.records import App, Installation, Repository
from bot.forge.rest.call import Call, Input
from bot.forge.shapes import Json
from bot.forge.shapes.apps import app as app_shape
from bot.forge.shapes.apps import app_with_keys, installation_token
from bot.forge.shapes.apps import installation as installation_shape
from bot.forge.shapes.hooks import config
from bot.forge.shapes.repositories import repository as repository_shape


class TokenInput(Input):
    """How an installation token is to be down-scoped."""

    repository_ids: tuple[int, ...] | None = Field(default=None, max_length=500)
    repositories: tuple[str, ...] | None = None
    """Names without owner; an alternative to the ids."""
    permissions: dict[str, str] | None = None


class HookConfigInput(Input):
    """What may change on the App's hook."""

    url: str | None = None
    secret: str | None = None


def calling_app(call: Call) -> App:
    """The App that signed this call. Raises Unauthorized for every other kind of caller."""
    if call.caller.app is None or call.caller.installation is not None:
        raise Unauthorized("A JSON web token could not be decoded")
    return call.caller.app


def own_installation(call: Call, installation_id: int) -> Installation:
    """An installation of the calling App. Raises NotFound."""
    app, installation = calling_app(call), call.state.installations.get(installation_id)
    if installation is None or installation.app_id != app.id:
        raise NotFound
    return installation


@get("/app")
async def get_app(call: Call) -> Json:
    """The App itself."""
    app = calling_app(call)
    count = sum(installation.app_id == app.id for installation in call.state.installations.values())
    return {**app_shape(call.view, app), "installations_count": count}


@get("/app/installations")
async def list_installations(call: Call) -> Response[Any]:
    """Where the App is installed."""
    app = calling_app(call)
    rows = [installation for installation in call.state.installations.values() if installation.app_id == app.id]
    return call.page(rows, lambda row: installation_shape(call.view, row))


@get("/app/installations/{installation_id:int}")
async def get_installation(call: Call, installation_id: int) -> Json:
    """One installation."""
    return installation_shape(call.view, own_installation(call, installation_id))


@delete("/app/installations/{installation_id:int}")
async def delete_installation(call: Call, installation_id: int) -> None:
    """Uninstall the App from an account."""
    installation = own_installation(call, installation_id)
    apps.uninstall(call.forge, installation, installation.account)


@post("/app/installations/{installation_id:int}/access_tokens")
async def create_access_token(call: Call, installation_id: int) -> Response[Json]:
    """A token for an installation, good for an hour."""
    installation = own_installation(call, installation_id)
    if installation.suspended_at:
        raise Forbidden("This installation has been suspended")
    wanted = await call.body(TokenInput)
    ids = wanted.repository_ids
    if wanted.repositories:
        names = call.state.repositories_of(installation)
        found = {repository.name.lower(): repository.id for repository in names}
        ids = tuple(found.get(name.lower(), 0) for name in wanted.repositories)
    value, token = apps.create_token(
        call.forge, calling_app(call), installation, repository_ids=ids, permissions=wanted.permissions
    )
    return Response(installation_token(call.view, value, token), status_code=201)


@get("/repos/{owner:str}/{repo:str}/installation")
async def get_repository_installation(call: Call, owner: str, repo: str) -> Json:
    """The App's installation on a repository."""
    app, repository = calling_app(call), call.state.repository(f"{owner}/{repo}")
    for installation in call.state.installations.values():
        if repository and installation.app_id == app.id and repository in call.state.repositories_of(installation):
            return installation_shape(call.view, installation)
    raise NotFound


@get("/installation/repositories")
async def list_installation_repositories(call: Call) -> Response[Any]:
    """The repositories that an installation's token extends to."""
    if call.caller.installation is None:
        raise Forbidden("You must authenticate with an installation access token in order to list repositories.")
    rows = [repo for repo in call.state.repositories.values() if reaches(call.state, call.caller, repo)]

    def shape(row: Repository) -> Json:
        return repository_shape(call.view, row, role=call.role(row))

    return call.page(rows, shape, wrap="repositories")


@delete("/installation/token")
async def revoke_token(call: Call) -> None:
    """Give an installation token back before its time."""
    if call.caller.installation is None:
        raise Forbidden("Resource not accessible")
    call.state.tokens = {key: token for key, token in call.state.tokens.items() if token is not call.caller.token}


@get("/app/hook/config")
async def get_hook_config(call: Call) -> Json:
    """The App's hook, its secret masked."""
    app = calling_app(call)
    return config(app.webhook_url, app.webhook_secret)


@patch("/app/hook/config")
async def update_hook_config(call: Call) -> Json:
    """Point the App's hook elsewhere, or change its secret."""
    wanted, app = await call.body(HookConfigInput), calling_app(call)
    changes = {"webhook_url": wanted.url or app.webhook_url, "webhook_secret": wanted.secret or app.webhook_secret}
    call.state.apps[app.id] = app = app.model_copy(update=changes)
    return config(app.webhook_url, app.webhook_secret)


@post("/app-manifests/{code:str}/conversions")
async def convert_manifest(call: Call, code: str) -> Response[Json]:
    """Turn a manifest's code, once, into an App with its keys."""
    return Response(app_with_keys(call.view, apps.convert_manifest(call.forge, code)), status_code=201)


ROUTES = [
    get_app,
    list_installations,
    get_installation,
    delete_installation,
    create_access_token,
    get_repository_installation,
    list_installation_repositories,
    revoke_token,
    get_hook_config,
    update_hook_config,
    convert_manifest,
]
