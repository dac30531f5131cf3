"""Hooks and their deliveries as GitHub shows them. Secrets are masked."""

from bot.forge.deliveries import Delivery
from bot.forge.records import App, Hook, Repository
from bot.forge.shapes import Json, stamp
from bot.forge.view import View

MASK = "********"


def config(url: str | None, secret: str | None) -> Json:
    """A hook's configuration."""
    return {
        "url": url or "",
        "content_type": "json",
        "insecure_ssl": "0",
        **({"secret": MASK} if secret else {}),
    }


def hook(view: View, repo: Repository, row: Hook) -> Json:
    """A repository's hook."""
    url = f"{view.urls.repository(repo)}/hooks/{row.id}"
    return {
        "type": "Repository",
        "id": row.id,
        "name": "web",
        "active": row.active,
        "events": list(row.events),
        "config": config(row.url, row.secret),
        "created_at": stamp(row.created_at),
        "updated_at": stamp(row.updated_at),
        "url": url,
        "test_url": f"{url}/tests",
        "ping_url": f"{url}/pings",
        "deliveries_url": f"{url}/deliveries",
        "last_response": {"code": None, "status": "unused", "message": None},
    }


def app_hook(row: App) -> Json:
    """An App's own hook, as its `ping` describes it."""
    return {
        "type": "App",
        "id": row.id,
        "name": "web",
        "active": row.webhook_url is not None,
        "events": list(row.events),
        "config": config(row.webhook_url, row.webhook_secret),
        "created_at": stamp(row.created_at),
        "updated_at": stamp(row.created_at),
        "app_id": row.id,
    }


def delivery_item(row: Delivery) -> Json:
    """A delivery as lists show it."""
    return {
        "id": row.id,
        "guid": row.guid,
        "delivered_at": stamp(row.delivered_at),
        "redelivery": row.redelivery,
        "duration": row.duration,
        "status": row.status,
        "status_code": row.status_code,
        "event": row.event,
        "action": row.action,
        "installation_id": row.installation_id,
        "repository_id": row.repository_id,
        "throttled_at": None,
    }


def delivery(row: Delivery) -> Json:
    """A delivery with its request and its response."""
    return {
        **delivery_item(row),
        "url": row.url,
        "request": {"headers": row.request_headers, "payload": row.payload},
        "response": {"headers": row.response_headers, "payload": row.response_body},
    }
