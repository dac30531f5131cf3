"""What happens to Apps: made with keys of their own, installed, changed, removed; and the tokens they ask for.

https://docs.github.com/en/apps/creating-github-apps/about-creating-github-apps/about-creating-github-apps
"""

import re
import secrets
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta

from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa

from bot.forge.access import LEVELS
from bot.forge.errors import Unprocessable
from bot.forge.forge import Forge, app_target
from bot.forge.payloads import installation_event, installation_repositories_event, ping_payload
from bot.forge.records import App, Installation, Repository, Token, User
from bot.forge.shapes.hooks import app_hook
from bot.forge.state import now

TOKEN_LIFE = timedelta(hours=1)


def create_user(forge: Forge, login: str, kind: str = "User") -> str:
    """A person (or a bot that uses a plain token), and a token that speaks for it. Asked again: another token."""
    if forge.state.user(login) is None:
        user = User.model_validate({"id": forge.state.new_id(), "login": login, "type": kind, "created_at": now()})
        forge.state.users[login.lower()] = user
    value = f"ghp_{secrets.token_hex(18)}"
    forge.state.tokens[value] = Token(login=login)
    return value


def create_app(
    forge: Forge,
    *,
    name: str,
    owner: str,
    webhook_url: str | None,
    permissions: Mapping[str, str],
    events: Sequence[str],
    webhook_secret: str | None = None,
    external_url: str | None = None,
    description: str | None = None,
) -> App:
    """A new App with a fresh private key; its bot user is `slug[bot]`. Its hook is pinged."""
    key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    pkcs1 = serialization.PrivateFormat.TraditionalOpenSSL
    pem = key.private_bytes(serialization.Encoding.PEM, pkcs1, serialization.NoEncryption()).decode()
    app = App(
        id=forge.state.new_id(),
        slug=_slug(forge, name),
        name=name,
        owner=owner,
        client_id=f"Iv23{secrets.token_hex(8)}",
        client_secret=secrets.token_hex(20),
        pem=pem,
        webhook_secret=webhook_secret or secrets.token_hex(20),
        webhook_url=webhook_url,
        external_url=external_url or forge.urls.root,
        description=description,
        permissions={"metadata": "read", **permissions},
        events=tuple(events),
        created_at=now(),
    )
    forge.state.apps[app.id] = app
    bot = User(id=forge.state.new_id(), login=app.login, type="Bot", created_at=app.created_at)
    forge.state.users[app.login.lower()] = bot
    if webhook_url:
        forge.post(app_target(app), "ping", ping_payload(forge.view, app.id, app_hook(app), None, None), None, None)
    return app


def convert_manifest(forge: Forge, code: str) -> App:
    """Make the App behind a code. Raises NotFound."""
    manifest, owner = forge.codes.take(code)
    hook = manifest.hook_attributes
    return create_app(
        forge,
        name=manifest.name or "preview",
        owner=owner,
        webhook_url=hook.url if hook and hook.active else None,
        permissions=manifest.default_permissions,
        events=manifest.default_events,
        external_url=manifest.url,
        description=manifest.description,
    )


def install(
    forge: Forge, app: App, account: str, repositories: Sequence[Repository] | None, sender: str
) -> Installation:
    """Install an App on an account, for some repositories of it or (None) for all."""
    moment = now()
    installation = Installation(
        id=forge.state.new_id(),
        app_id=app.id,
        account=account,
        permissions=app.permissions,
        events=app.events,
        created_at=moment,
        updated_at=moment,
        repository_ids=None if repositories is None else tuple(repository.id for repository in repositories),
    )
    forge.state.installations[installation.id] = installation
    forge.announce(installation_event(forge.view, installation, "created", sender))
    return installation


def change_repositories(
    forge: Forge, installation: Installation, repositories: Sequence[Repository], sender: str
) -> Installation:
    """Choose other repositories for an installation; one event for what came and one for what went."""
    before = forge.state.repositories_of(installation)
    chosen = tuple(repository.id for repository in repositories)
    changed = installation.model_copy(update={"repository_ids": chosen, "updated_at": now()})
    forge.state.installations[changed.id] = changed
    added = [repository for repository in repositories if repository not in before]
    removed = [repository for repository in before if repository not in repositories]
    if added:
        forge.announce(installation_repositories_event(forge.view, changed, added, [], sender))
    if removed:
        forge.announce(installation_repositories_event(forge.view, changed, [], removed, sender))
    return changed


def suspend(forge: Forge, installation: Installation, suspended: bool, sender: str) -> None:
    """Suspend an installation, whose tokens are then refused, or let it go on."""
    changed = installation.model_copy(update={"suspended_at": now() if suspended else None, "updated_at": now()})
    forge.state.installations[changed.id] = changed
    forge.announce(installation_event(forge.view, changed, "suspend" if suspended else "unsuspend", sender))


def uninstall(forge: Forge, installation: Installation, sender: str) -> None:
    """Remove an installation, and with it its tokens."""
    forge.announce(installation_event(forge.view, installation, "deleted", sender))
    del forge.state.installations[installation.id]
    for value, token in list(forge.state.tokens.items()):
        if token.installation_id == installation.id:
            del forge.state.tokens[value]


def create_token(
    forge: Forge,
    app: App,
    installation: Installation,
    *,
    repository_ids: tuple[int, ...] | None,
    permissions: Mapping[str, str] | None,
    life: timedelta = TOKEN_LIFE,
) -> tuple[str, Token]:
    """An installation token, down-scoped as asked. Raises Unprocessable when more is asked than was granted."""
    reachable = {repository.id for repository in forge.state.repositories_of(installation)}
    if repository_ids and not reachable.issuperset(repository_ids):
        raise Unprocessable("There is at least one repository that does not exist or is not accessible.")
    wanted = dict(permissions or installation.permissions)
    for name, level in wanted.items():
        granted = installation.permissions.get(name)
        if granted is None or level not in LEVELS or LEVELS.index(level) > LEVELS.index(granted):
            raise Unprocessable("The permissions requested are not granted to this installation.")
    moment = now()
    _forget_expired(forge, moment)
    chosen = repository_ids or installation.repository_ids
    token = Token(
        login=app.login,
        installation_id=installation.id,
        repository_ids=repository_ids or None,
        permissions={"metadata": "read", **wanted},
        expires_at=moment + life,
    )
    value = f"ghs_{secrets.token_hex(18)}"
    forge.state.tokens[value] = token
    return value, token.model_copy(update={"repository_ids": chosen})


def _forget_expired(forge: Forge, moment: datetime) -> None:
    for value, token in list(forge.state.tokens.items()):
        if token.expires_at and token.expires_at + TOKEN_LIFE < moment:
            del forge.state.tokens[value]


def _slug(forge: Forge, name: str) -> str:
    slug = re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-") or "app"
    taken = {app.slug for app in forge.state.apps.values()}
    return slug if slug not in taken else f"{slug}-{forge.state.last_id}"
