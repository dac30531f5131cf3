"""Admin calls for Apps, their installations and their buttons."""

from datetime import timedelta

from litestar import delete, post, put
from pydantic import Field

from bot.forge import apps
from bot.forge.admin.door import AdminInput, repository_named
from bot.forge.codes import Manifest
from bot.forge.errors import NotFound
from bot.forge.payloads import check_run_event
from bot.forge.records import Installation
from bot.forge.rest.call import Call
from bot.forge.shapes import Json
from bot.forge.shapes.apps import app_with_keys, installation_token
from bot.forge.shapes.apps import installation as installation_shape


class AppInput(AdminInput):
    """An App to set up."""

    name: str = Field(min_length=1)
    owner: str
    webhook_url: str | None = None
    webhook_secret: str | None = None
    permissions: dict[str, str] = Field(default_factory=dict)
    events: tuple[str, ...] = ()


class ManifestInput(AdminInput):
    """A manifest to confirm."""

    owner: str
    manifest: Manifest


class InstallationInput(AdminInput):
    """An App to install; without `repositories` on all of the account's."""

    app_id: int
    account: str
    repositories: tuple[str, ...] | None = None


class InstallationEditInput(AdminInput):
    """What changes on an installation."""

    repositories: tuple[str, ...] | None = None
    suspended: bool | None = None


class TokenInput(AdminInput):
    """An installation token of any length of life, to see one expire."""

    installation_id: int
    repository_ids: tuple[int, ...] | None = None
    permissions: dict[str, str] | None = None
    seconds: int = 3600


class ActionInput(AdminInput):
    """A button on a check run, and who presses it."""

    login: str
    identifier: str


def _installation(call: Call, installation_id: int) -> Installation:
    installation = call.state.installations.get(installation_id)
    if installation is None:
        raise NotFound
    return installation


@post("/apps")
async def add_app(admin: Call) -> Json:
    """Set up an App."""
    wanted = await admin.body(AppInput)
    return app_with_keys(admin.view, apps.create_app(admin.forge, **wanted.model_dump()))


@post("/app-manifests")
async def confirm_manifest(admin: Call) -> Json:
    """Confirm a manifest and get the code that the redirect would carry."""
    wanted = await admin.body(ManifestInput)
    return {"code": admin.forge.codes.give(wanted.manifest, wanted.owner)}


@post("/installations")
async def add_installation(admin: Call) -> Json:
    """Install an App."""
    wanted = await admin.body(InstallationInput)
    app = admin.state.apps.get(wanted.app_id)
    if app is None:
        raise NotFound
    chosen = None if wanted.repositories is None else [repository_named(admin, name) for name in wanted.repositories]
    installation = apps.install(admin.forge, app, wanted.account, chosen, wanted.account)
    return installation_shape(admin.view, installation)


@put("/installations/{installation_id:int}")
async def change_installation(admin: Call, installation_id: int) -> Json:
    """Choose other repositories, suspend or resume."""
    installation, wanted = _installation(admin, installation_id), await admin.body(InstallationEditInput)
    if wanted.repositories is not None:
        chosen = [repository_named(admin, name) for name in wanted.repositories]
        installation = apps.change_repositories(admin.forge, installation, chosen, installation.account)
    if wanted.suspended is not None:
        apps.suspend(admin.forge, installation, wanted.suspended, installation.account)
    return installation_shape(admin.view, _installation(admin, installation_id))


@delete("/installations/{installation_id:int}")
async def remove_installation(admin: Call, installation_id: int) -> None:
    """Uninstall."""
    installation = _installation(admin, installation_id)
    apps.uninstall(admin.forge, installation, installation.account)


@post("/tokens")
async def add_token(admin: Call) -> Json:
    """An installation token that lives as long as asked."""
    wanted = await admin.body(TokenInput)
    installation = _installation(admin, wanted.installation_id)
    value, token = apps.create_token(
        admin.forge,
        admin.state.apps[installation.app_id],
        installation,
        repository_ids=wanted.repository_ids,
        permissions=wanted.permissions,
        life=timedelta(seconds=wanted.seconds),
    )
    return installation_token(admin.view, value, token)


@post("/check-runs/{check_run_id:int}/actions")
async def press_button(admin: Call, check_run_id: int) -> Json:
    """Somebody presses a button on a check run."""
    wanted, run = await admin.body(ActionInput), admin.state.check_runs.get(check_run_id)
    if run is None or wanted.identifier not in [action.identifier for action in run.actions]:
        raise NotFound
    repository, asked = admin.state.repositories[run.repo_id], {"identifier": wanted.identifier}
    event = check_run_event(admin.view, repository, run, "requested_action", wanted.login, requested_action=asked)
    admin.announce(event)
    return {}


ROUTES = [
    add_app,
    confirm_manifest,
    add_installation,
    change_installation,
    remove_installation,
    add_token,
    press_button,
]
