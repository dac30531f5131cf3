"""Apps, installations and their tokens as GitHub shows them."""

from bot.forge.records import App, Installation, Token
from bot.forge.shapes import Json, node_id, stamp, stamp_or_none
from bot.forge.shapes.repositories import repository
from bot.forge.shapes.users import simple_user
from bot.forge.view import View


def app(view: View, row: App) -> Json:
    """An App, as anybody may see it."""
    return {
        "id": row.id,
        "slug": row.slug,
        "node_id": node_id("Integration", row.id),
        "client_id": row.client_id,
        "owner": simple_user(view, row.owner),
        "name": row.name,
        "description": row.description,
        "external_url": row.external_url,
        "html_url": f"{view.urls.root}/apps/{row.slug}",
        "created_at": stamp(row.created_at),
        "updated_at": stamp(row.created_at),
        "permissions": row.permissions,
        "events": list(row.events),
    }


def app_or_none(view: View, app_id: int | None) -> Json | None:
    """An App, or null when there is none (any more)."""
    row = view.state.apps.get(app_id) if app_id else None
    return app(view, row) if row else None


def app_with_keys(view: View, row: App) -> Json:
    """An App at the one moment at which GitHub tells its keys: the conversion of a manifest."""
    return {
        **app(view, row),
        "client_secret": row.client_secret,
        "webhook_secret": row.webhook_secret,
        "pem": row.pem,
    }


def installation(view: View, row: Installation) -> Json:
    """An App's installation on an account."""
    app_row = view.state.apps[row.app_id]
    account = simple_user(view, row.account)
    url = f"{view.urls.api}/app/installations/{row.id}"
    return {
        "id": row.id,
        "client_id": app_row.client_id,
        "account": account,
        "repository_selection": "all" if row.repository_ids is None else "selected",
        "access_tokens_url": f"{url}/access_tokens",
        "repositories_url": f"{view.urls.api}/installation/repositories",
        "html_url": f"{view.urls.root}/settings/installations/{row.id}",
        "app_id": row.app_id,
        "app_slug": app_row.slug,
        "target_id": account["id"],
        "target_type": account["type"],
        "permissions": row.permissions,
        "events": list(row.events),
        "created_at": stamp(row.created_at),
        "updated_at": stamp(row.updated_at),
        "single_file_name": None,
        "has_multiple_single_files": False,
        "single_file_paths": [],
        "suspended_by": account if row.suspended_at else None,
        "suspended_at": stamp_or_none(row.suspended_at),
    }


def simple_installation(row: Installation) -> Json:
    """The installation as deliveries to an App name it."""
    return {"id": row.id, "node_id": node_id("IntegrationInstallation", row.id)}


def installation_token(view: View, value: str, token: Token) -> Json:
    """A new installation access token."""
    selected = token.repository_ids
    named = [repository(view, view.state.repositories[key]) for key in selected or () if key in view.state.repositories]
    return {
        "token": value,
        "expires_at": stamp_or_none(token.expires_at),
        "permissions": token.permissions,
        "repository_selection": "all" if selected is None else "selected",
        **({"repositories": named} if selected is not None else {}),
    }
