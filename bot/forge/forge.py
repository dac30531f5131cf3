"""The forge as a whole: its state, its repositories on disk, its outbox, and where it is reached."""

import uuid
from collections.abc import Iterator
from pathlib import Path

from bot.forge.access import Need, allows
from bot.forge.codes import Codes
from bot.forge.deliveries import Address, Delivery, Outbox, Target
from bot.forge.faults import Faults
from bot.forge.git import Git
from bot.forge.limits import Rates
from bot.forge.payloads import Event
from bot.forge.records import App, Installation
from bot.forge.shapes import Json
from bot.forge.shapes.apps import simple_installation
from bot.forge.state import State, load, now, write_atomically
from bot.forge.urls import Urls
from bot.forge.view import View

EVENT_PERMISSIONS = {
    "push": "contents",
    "delete": "contents",
    "pull_request": "pull_requests",
    "issues": "issues",
    "issue_comment": "issues",
    "check_run": "checks",
    "deployment": "deployments",
    "deployment_status": "deployments",
}
"""What an installation must be able to read before its App hears of an event."""

UNASKED = frozenset({"installation", "installation_repositories"})
"""Every App hears of these without subscribing."""


class Forge:
    """Everything that lives as long as the process. `folder` holds the state, the repositories and the deliveries."""

    def __init__(self, folder: Path, *, url: str, admin_token: str) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.admin_token = admin_token
        self.state: State = load(folder / "state.json")
        self.urls = Urls(url)
        self.view = View(self.state, self.urls)
        self.git = Git(folder / "git")
        self.faults = Faults()
        self.rates = Rates()
        self.codes = Codes()
        self.outbox = Outbox(folder / "deliveries", self._address)
        self.state.last_id = max([self.state.last_id, *self.outbox.log])
        self._file = folder / "state.json"

    def save(self) -> None:
        """Write the state down. Called before an answer claims that something was done."""
        write_atomically(self._file, self.state.model_dump_json())

    def announce(self, event: Event) -> None:
        """Tell every hook that wants to hear of it."""
        for target, payload, installation_id in self._audience(event):
            self.post(target, event.name, payload, event.repository.id if event.repository else None, installation_id)

    def post(
        self, target: Target, name: str, payload: Json, repository_id: int | None, installation_id: int | None
    ) -> None:
        """Send one payload to one hook."""
        delivery = Delivery(
            id=self.state.new_id(),
            guid=str(uuid.uuid4()),
            target=target,
            event=name,
            action=payload.get("action"),
            payload=payload,
            installation_id=installation_id,
            repository_id=repository_id,
            delivered_at=now(),
        )
        self.outbox.post(delivery)

    def redeliver(self, delivery: Delivery) -> None:
        """Send a delivery again: a new one, with the same guid and the payload of that day."""
        fresh = {"id": self.state.new_id(), "redelivery": True, "delivered_at": now()}
        blank = {"status": "pending", "status_code": 0, "duration": 0.0, "response_headers": {}, "response_body": ""}
        self.outbox.post(delivery.model_copy(update=fresh | blank))

    def _audience(self, event: Event) -> Iterator[tuple[Target, Json, int | None]]:
        repo = event.repository
        if repo and event.app_id is None:
            for hook in list(self.state.hooks.values()):
                if hook.repo_id == repo.id and hook.active and {event.name, "*"} & set(hook.events):
                    yield Target(type="repository", id=repo.id, hook_id=hook.id), event.payload, None
        for installation in self._installations(event):
            app = self.state.apps[installation.app_id]
            if app.webhook_url and _hears(app, installation, event):
                named = {"installation": simple_installation(installation), **event.payload}
                yield app_target(app), named, installation.id

    def _installations(self, event: Event) -> list[Installation]:
        if event.installation:
            return [event.installation]
        return list(self.state.installations_on(event.repository)) if event.repository else []

    def _address(self, target: Target) -> Address | None:
        if target.type == "integration":
            app = self.state.apps.get(target.id)
            return Address(url=app.webhook_url, secret=app.webhook_secret) if app and app.webhook_url else None
        hook = self.state.hooks.get(target.hook_id)
        return Address(url=hook.url, secret=hook.secret) if hook else None


def app_target(app: App) -> Target:
    """An App's one hook."""
    return Target(type="integration", id=app.id, hook_id=app.id)


def _hears(app: App, installation: Installation, event: Event) -> bool:
    if event.app_id not in (None, app.id):
        return False
    if event.name in UNASKED:
        return True
    permission = EVENT_PERMISSIONS.get(event.name, "metadata")
    return event.name in installation.events and allows(installation.permissions, Need((permission,)))
