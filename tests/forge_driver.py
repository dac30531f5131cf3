"""Drives a forge (`python -m bot.forge`) as people and operators would: over HTTP, and by real `git push`.

Everything here is async, except starting and stopping the process. In short:

    async with launched_forge(tmp_path / "forge") as forge:
        ada = await forge.user("ada")
        shop = await forge.repository(ada, "shop")
        app = await forge.app("previews", owner=ada, webhook_url=url, permissions={…}, events=[…])
        installation_id = await forge.install(app, ada)
        await shop.push({"index.html": "<h1>Hello</h1>"})
        sha = await shop.push({"index.html": "<h1>Hi</h1>"}, branch="greeting")
        number = await shop.open_pull("greeting")
        await shop.comment(number, "/preview stop", by=ada)
        await shop.close(number)
        await forge.fault("lost_answer", method="POST", path="/comments$")
        await forge.delivery_fault("hold", match="pull_request.synchronize", times=2)

Whatever a call is refused raises httpx.HTTPStatusError with the forge's answer in it.
"""

import asyncio
import itertools
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import httpx

from tests.forge_process import ForgeProcess
from tests.forge_repository import Person, RepositoryDriver, git_environment

__all__ = ["AppKeys", "ForgeDriver", "ForgeProcess", "Person", "RepositoryDriver", "git_environment"]

Json = dict[str, Any]

BOT_PERMISSIONS = {
    "contents": "read",
    "pull_requests": "write",
    "issues": "read",
    "checks": "write",
    "deployments": "write",
}
BOT_EVENTS = ("pull_request", "issue_comment", "check_run", "check_suite", "push", "repository")
DEADLINE = 20.0
"""Seconds that `until` waits by default."""


async def until(condition: Callable[[], Awaitable[Any]], *, what: str, deadline: float = DEADLINE) -> Any:
    """What `condition` returns once that is true. Raises TimeoutError naming `what` after `deadline` seconds."""
    end = time.monotonic() + deadline
    while time.monotonic() < end:
        if found := await condition():
            return found
        await asyncio.sleep(0.02)
    raise TimeoutError(f"waited {deadline} s for {what}")


@asynccontextmanager
async def launched_forge(folder: Path, *, port: int = 0) -> AsyncIterator["ForgeDriver"]:
    """A forge of one's own, with a driver for it; stopped at the end."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    process = await asyncio.to_thread(ForgeProcess.start, folder, port=port)
    try:
        async with ForgeDriver(process, folder.with_name(f"{folder.name}-clones")) as driver:
            yield driver
    finally:
        await asyncio.to_thread(process.stop)


@dataclass(frozen=True, slots=True)
class AppKeys:
    """A GitHub App as its operator knows it."""

    id: int
    slug: str
    client_id: str
    pem: str
    webhook_secret: str

    @property
    def login(self) -> str:
        """The login under which it comments."""
        return f"{self.slug}[bot]"


class ForgeDriver:
    """One running forge, with the operator's means. `clones` is a folder for working copies."""

    def __init__(self, process: ForgeProcess, clones: Path) -> None:
        self.process = process
        self.url, self.api = process.url, process.api
        self.clones = clones
        self.http = httpx.AsyncClient(base_url=process.url, timeout=30, trust_env=False)
        self._admin = {"Authorization": f"Bearer {process.admin_token}"}
        self._copies = itertools.count()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.http.aclose()

    async def admin(self, method: str, path: str, body: object = None) -> Any:
        """A call of the admin API (`bot.forge.admin` lists them)."""
        answer = await self.http.request(method, f"/_forge{path}", json=body, headers=self._admin)
        return _content(answer)

    async def rest(self, person: Person | str | None, method: str, path: str, body: object = None) -> Any:
        """A REST call as a person, or with a bare token, or as nobody. `path` begins after `/api/v3`."""
        token = person.token if isinstance(person, Person) else person
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        return _content(await self.http.request(method, f"/api/v3{path}", json=body, headers=headers))

    async def user(self, login: str, *, kind: str = "User") -> Person:
        """A person, or with `kind="Bot"` a bot that uses a plain token."""
        answer = await self.admin("POST", "/users", {"login": login, "type": kind})
        return Person(answer["login"], answer["token"])

    async def repository(
        self,
        owner: Person,
        name: str,
        *,
        private: bool = False,
        permissions: Mapping[str, str] | None = None,
    ) -> RepositoryDriver:
        """An empty repository; `permissions` maps logins to read, triage, write, maintain or admin."""
        body = {"owner": owner.login, "name": name, "private": private, "permissions": dict(permissions or {})}
        return RepositoryDriver(self, owner, await self.admin("POST", "/repositories", body))

    async def app(
        self,
        name: str,
        *,
        owner: Person,
        webhook_url: str | None = None,
        permissions: Mapping[str, str] | None = None,
        events: Sequence[str] = BOT_EVENTS,
    ) -> AppKeys:
        """A GitHub App; by default with what the preview bot asks for."""
        granted = dict(BOT_PERMISSIONS if permissions is None else permissions)
        body = {"name": name, "owner": owner.login, "webhook_url": webhook_url, "permissions": granted}
        made = await self.admin("POST", "/apps", body | {"events": list(events)})
        return AppKeys(made["id"], made["slug"], made["client_id"], made["pem"], made["webhook_secret"])

    async def install(
        self, app: AppKeys, account: Person, repositories: Sequence[RepositoryDriver] | None = None
    ) -> int:
        """Install an App on an account, on all of its repositories or on some. Returns the installation's id."""
        names = None if repositories is None else [repository.full_name for repository in repositories]
        body = {"app_id": app.id, "account": account.login, "repositories": names}
        installed: int = (await self.admin("POST", "/installations", body))["id"]
        return installed

    async def installation_token(self, installation_id: int, **scope: Any) -> str:
        """An installation's token; `repository_ids`, `permissions` and `seconds` narrow it."""
        token: str = (await self.admin("POST", "/tokens", {"installation_id": installation_id, **scope}))["token"]
        return token

    async def fault(self, kind: str, **details: Any) -> None:
        """Let the next matching REST or git calls fail: see `bot.forge.faults.Fault` for kinds and details."""
        await self.admin("POST", "/faults", {"kind": kind, **details})

    async def delivery_fault(self, fate: str, **details: Any) -> None:
        """Decide what becomes of the next matching deliveries: see `bot.forge.delivery_faults.DeliveryFault`."""
        await self.admin("POST", "/delivery-faults", {"fate": fate, **details})

    async def clear_faults(self) -> None:
        """Let everything work again."""
        await self.admin("DELETE", "/faults")
        await self.admin("DELETE", "/delivery-faults")

    async def deliveries(self, event: str | None = None, action: str | None = None) -> list[Json]:
        """The delivery log, oldest first, with requests and responses."""
        rows: list[Json] = await self.admin("GET", "/deliveries")
        return [row for row in rows if event in (None, row["event"]) and action in (None, row["action"])]

    async def release(self, ids: Sequence[int] | None = None) -> list[int]:
        """Send held deliveries, in the order given."""
        released: list[int] = (await self.admin("POST", "/deliveries/release", {"ids": ids}))["released"]
        return released

    async def redeliver(self, delivery_id: int) -> None:
        """Send a delivery again, with its old guid."""
        await self.admin("POST", f"/deliveries/{delivery_id}/redeliver")

    async def press(self, check_run_id: int, identifier: str, *, by: Person) -> None:
        """Press one of the App's buttons on a check run."""
        body = {"login": by.login, "identifier": identifier}
        await self.admin("POST", f"/check-runs/{check_run_id}/actions", body)

    async def state(self) -> Json:
        """Every table of the forge."""
        tables: Json = await self.admin("GET", "/state")
        return tables

    def new_clone(self) -> Path:
        """A folder for another working copy."""
        path = self.clones / str(next(self._copies))
        path.mkdir(parents=True)
        return path


def _content(answer: httpx.Response) -> Any:
    if answer.is_error:
        raise httpx.HTTPStatusError(f"{answer.status_code}: {answer.text}", request=answer.request, response=answer)
    return answer.json() if answer.content else None
