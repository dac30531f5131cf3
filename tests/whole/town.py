"""A town to tell stories in: a forge, an engine and a bot as processes, and an App installed for each new owner."""

import asyncio
import hashlib
import hmac
import itertools
import os
import uuid
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

import httpx

from bot import annexes
from bot.annexes import Annex
from bot.redaction import Redactor
from bot.sandbox import Sandboxes
from bot.stage import free_port
from tests.forge_driver import AppKeys, ForgeDriver, Person, launched_forge
from tests.whole.story import Story

_numbers = itertools.count(1)


class Town:
    """The processes, and what they are set up with. Every story gets people and repositories of its own."""

    def __init__(self, forge: ForgeDriver, engine: Annex, engine_token: str, app: AppKeys, folder: Path) -> None:
        self.forge, self.engine, self.app, self.folder = forge, engine, app, folder
        self.settings: dict[str, str] = {
            "PREVIEW_DATA_DIR": str(folder / "bot"),
            "PREVIEW_ENGINE": engine.url,
            "PREVIEW_ENGINE_TOKEN": engine_token,
            "PREVIEW_READY_LIMIT": "20",
            "PREVIEW_LOG_LEVEL": "info",
            "GITHUB_API_URL": forge.api,
            "GITHUB_APP_ID": str(app.id),
            "GITHUB_APP_PRIVATE_KEY": app.pem,
            "GITHUB_WEBHOOK_SECRET": app.webhook_secret,
        }
        self.sandboxes = Sandboxes(engine.url, engine_token, Redactor(), instance="default", vcpus=1, time_limit=3600)
        self.bot: Annex | None = None

    async def start_bot(self, *, program: str = "bot", **settings: str) -> None:
        """Start the bot, or start it again: with the same data folder and port."""
        words = (program, "serve")
        settings |= {"PYTHONPATH": str(Path(__file__).parents[2])}  # for programs among the tests
        self.bot = await annexes.start(words, log=self.folder / "bot.log", env={**self.settings, **settings})

    async def kill_bot(self) -> None:
        """End the bot as a power cut would."""
        assert self.bot
        self.bot.kill()
        await self.bot.process.wait()

    def log(self) -> str:
        """What the bot has logged so far, over all its starts."""
        path = self.folder / "bot.log"
        return path.read_text("utf-8", "replace") if path.exists() else ""

    async def person(self, name: str, *, kind: str = "User") -> Person:
        """Somebody new whose login begins with this name."""
        return await self.forge.user(f"{name}{next(_numbers)}-{os.getpid()}", kind=kind)

    async def story(
        self,
        files: Mapping[str, str],
        *,
        private: bool = True,
        roles: Mapping[str, str] | None = None,
        **permissions: str,
    ) -> Story:
        """A new owner with a repository of these files on `main`, and the App installed.

        `roles` maps logins to what they may do; `writer="write"` makes such a person: `story.people["writer"]`.
        """
        owner = await self.person("owner")
        people = {name: await self.person(name) for name in permissions}
        roles = {**(roles or {}), **{people[name].login: role for name, role in permissions.items()}}
        repository = await self.forge.repository(owner, "shop", private=private, permissions=roles)
        await self.forge.install(self.app, owner, [repository])
        await repository.push(files)
        return Story(self, repository, people)

    async def deliver(
        self, event: str, body: bytes, *, guid: str | None = None, secret: str | None = None
    ) -> httpx.Response:
        """POST a delivery to the bot, signed with the App's webhook secret or with another one."""
        key = (self.app.webhook_secret if secret is None else secret).encode()
        headers = {
            "Content-Type": "application/json",
            "X-GitHub-Event": event,
            "X-GitHub-Delivery": guid or str(uuid.uuid4()),
            "X-Hub-Signature-256": f"sha256={hmac.new(key, body, hashlib.sha256).hexdigest()}",
        }
        async with httpx.AsyncClient(trust_env=False) as client:
            url = f"http://127.0.0.1:{self.settings['PREVIEW_PORT']}/webhooks/github"
            return await client.post(url, content=body, headers=headers)


@asynccontextmanager
async def open_town(folder: Path, *, bot: bool = True, **settings: str) -> AsyncIterator[Town]:
    """Start everything; end everything afterwards."""
    async with AsyncExitStack() as stack:
        forge = await stack.enter_async_context(launched_forge(folder / "forge"))
        engine, token = await annexes.start_engine(folder)
        stack.push_async_callback(engine.stop)
        port = free_port()
        operator = await forge.user("operator")
        app = await forge.app("preview", owner=operator, webhook_url=f"http://127.0.0.1:{port}/webhooks/github")
        town = Town(forge, engine, token, app, folder)
        town.settings |= {"PREVIEW_PORT": str(port), **settings}
        stack.push_async_callback(town.sandboxes.close)
        if bot:
            await town.start_bot()
        try:
            yield town
        finally:
            if town.bot:
                await town.bot.stop()


async def settled(seconds: float) -> None:
    """Let that much time pass: only to show that something does *not* happen."""
    await asyncio.sleep(seconds)
