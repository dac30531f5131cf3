"""A stage for the whole play on one machine: forge, engine and bot as processes, and a person who pushes to them.

Looks at everything through HTTP as an outsider would, and through nothing else.
"""

import asyncio
import base64
import contextlib
import html
import re
import socket
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx

from bot import annexes
from bot.annexes import Annex
from bot.errors import PreviewError
from bot.manifest import EVENTS, PERMISSIONS
from bot.subject import Subject

PERSON = "you"
POLL_SECONDS = 0.05
_FOR_BROWSERS = re.compile(
    r"<!--.*?-->|<sub>.*?</sub>|</?details>|^\| \| \|\n\| --- \| --- \|\n", re.DOTALL | re.MULTILINE
)


@dataclass(frozen=True, slots=True)
class Page:
    """What a URL answered."""

    status: int
    body: str


class Stage:
    """One repository with one pull request on a forge of its own, and a bot that serves it."""

    def __init__(self, forge: Annex, engine: Annex, client: httpx.AsyncClient) -> None:
        self.forge, self.engine = forge, engine
        self._client = client
        self._token = ""
        self.repository = ""
        self.number = 0

    @property
    def pull_page(self) -> str:
        """The page of the pull request, for a person's browser."""
        return f"{self.forge.url}/{self.repository}/pull/{self.number}"

    async def open_pull(self, subject: Subject) -> None:
        """Push the subject as a branch, and open a pull request from it."""
        await self.push(subject, "main", subject.base())
        await self.push(subject, "change")
        body = {"title": "Change the page", "head": "change", "base": "main", "body": "Look at the preview."}
        answer = await self._api("POST", f"/repos/{self.repository}/pulls", body)
        self.number = answer["number"]

    async def push(self, subject: Subject, branch: str, revision: str = "HEAD") -> None:
        """A real `git push`, with the person's token in a header."""
        pair = base64.b64encode(f"x-access-token:{self._token}".encode()).decode()
        url = f"{self.forge.url}/{self.repository}.git"
        words = ("-c", f"http.extraHeader=Authorization: Basic {pair}", "push", "--quiet", "--force", url)
        await asyncio.to_thread(subject.git, *words, f"{revision}:refs/heads/{branch}")

    async def say(self, text: str) -> None:
        """Write a comment on the pull request."""
        await self._api("POST", f"/repos/{self.repository}/issues/{self.number}/comments", {"body": text})

    async def bot_comments(self) -> list[str]:
        """What the bot has written on the pull request."""
        path = f"/repos/{self.repository}/issues/{self.number}/comments?per_page=100"
        return [comment["body"] for comment in await self._api("GET", path) if comment["user"]["type"] == "Bot"]

    async def await_comment(self, *signs: str, limit: float) -> str:
        """The bot's one comment, once it holds all these signs. Raises PreviewError when it failed or time is up."""
        loop = asyncio.get_running_loop()
        ends = loop.time() + limit
        body = ""
        while loop.time() < ends:
            comments = await self.bot_comments()
            body = comments[0] if comments else ""
            if all(sign in body for sign in signs):
                return body
            if "🔴" in body and "🔴" not in signs:
                raise PreviewError(f"the bot reports a failure:\n\n{for_a_terminal(body)}")
            await asyncio.sleep(POLL_SECONDS)
        raise PreviewError(f"the comment did not say {' and '.join(signs)} within {limit:.0f} s; it says:\n\n{body}")

    async def look(self, url: str) -> Page | None:
        """What a browser would get; None when nothing answers."""
        try:
            answer = await self._client.get(url, headers={"Accept": "text/html"})
        except httpx.HTTPError:
            return None
        return Page(answer.status_code, answer.text)

    async def await_page(self, url: str, text: str | None, *, limit: float) -> Page:
        """The page, once it answers and shows `text`. Raises PreviewError."""
        loop = asyncio.get_running_loop()
        ends = loop.time() + limit
        page = None
        while loop.time() < ends:
            page = await self.look(url)
            if page and page.status < 500 and (text is None or text in page.body):
                return page
            await asyncio.sleep(POLL_SECONDS)
        raise PreviewError(f"{url} did not show {text!r} within {limit:.0f} s; it answered {page}")

    async def set_up(self, name: str, bot_port: int) -> dict[str, str]:
        """A person, a private repository of theirs, and an App on it; the bot's settings for that App come back."""
        person = await self._admin("users", {"login": PERSON})
        self._token, self.repository = person["token"], f"{PERSON}/{name}"
        await self._admin("repositories", {"owner": PERSON, "name": name, "private": True})
        webhook = f"http://127.0.0.1:{bot_port}/webhooks/github"
        wanted = {"permissions": PERMISSIONS, "events": EVENTS, "webhook_url": webhook}
        app = await self._admin("apps", {"name": "preview", "owner": PERSON, **wanted})
        chosen = {"app_id": app["id"], "account": PERSON, "repositories": [self.repository]}
        await self._admin("installations", chosen)
        return {
            "PREVIEW_PORT": str(bot_port),
            "GITHUB_API_URL": self.forge.announced["api"],
            "GITHUB_APP_ID": str(app["id"]),
            "GITHUB_APP_PRIVATE_KEY": app["pem"],
            "GITHUB_WEBHOOK_SECRET": app["webhook_secret"],
        }

    async def _admin(self, what: str, body: dict[str, Any]) -> dict[str, Any]:
        headers = {"Authorization": f"Bearer {self.forge.announced['admin_token']}"}
        answer = await self._client.post(f"{self.forge.url}/_forge/{what}", json=body, headers=headers)
        answer.raise_for_status()
        return dict(answer.json())

    async def _api(self, method: str, path: str, body: dict[str, Any] | None = None) -> Any:
        headers = {"Authorization": f"Bearer {self._token}"}
        answer = await self._client.request(method, self.forge.announced["api"] + path, json=body, headers=headers)
        answer.raise_for_status()
        return answer.json()


@contextlib.asynccontextmanager
async def open_stage(data: Path, name: str) -> AsyncIterator[Stage]:
    """Start everything, set the App up as a person would by hand, and end everything afterwards."""
    async with contextlib.AsyncExitStack() as stack:
        client = await stack.enter_async_context(httpx.AsyncClient(timeout=60, trust_env=False))
        words = ("bot.forge", "--port", "0", "--data", str(data / "forge"))
        forge_starts = asyncio.create_task(annexes.start(words, log=data / "forge.log"))
        try:
            engine, engine_token = await annexes.start_engine(data)
            stack.push_async_callback(engine.stop)
        finally:
            forge = await forge_starts
            stack.push_async_callback(forge.stop)
        stage = Stage(forge, engine, client)
        environment = await stage.set_up(name, free_port())
        environment |= {
            "PREVIEW_DATA_DIR": str(data / "bot"),
            "PREVIEW_ENGINE": engine.url,
            "PREVIEW_ENGINE_TOKEN": engine_token,
        }
        bot = await annexes.start(("bot", "serve"), log=data / "bot.log", env=environment)
        stack.push_async_callback(bot.stop)
        yield stage


def for_a_terminal(comment: str) -> str:
    """A comment's Markdown without what only a browser understands, and without the advice for a pull request."""
    text = _FOR_BROWSERS.sub("", re.sub(r"<summary>(.*?)</summary>", r"\1:", comment))
    return re.sub(r"\n{3,}", "\n\n", html.unescape(text)).strip()


def free_port() -> int:
    """A loopback port that nothing listens on now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
