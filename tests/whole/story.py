"""One repository with one pull request: what its people do, and what they see."""

import html
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import httpx

from bot.names import sandbox_name
from bot.preview import RepoId
from tests.forge_driver import Person, RepositoryDriver, until

if TYPE_CHECKING:
    from tests.whole.town import Town

PATIENCE = 60.0
"""Seconds to wait for what the bot should do; generous, for it only matters when a test fails."""

_DONE = ("delivery.processed", "delivery ignored", "delivery processed before")
_OPEN = re.compile(r"\[Open the preview\]\(([^)]+)\)")


class Story:
    """Acts as the repository's owner unless told otherwise; `number` is the pull request that was opened last."""

    def __init__(self, town: "Town", repository: RepositoryDriver, people: Mapping[str, Person] | None = None) -> None:
        self.town, self.repository, self.people = town, repository, people or {}
        self.number = 0
        self.sha = ""

    async def open_pull(self, files: Mapping[str, str | None], *, branch: str = "change", **more: object) -> str:
        """Push a branch with these files and open a pull request from it; the head's sha."""
        await self.push(files, branch=branch)
        self.number = await self.repository.open_pull(branch, **more)  # type: ignore[arg-type]
        return self.sha

    async def push(self, files: Mapping[str, str | None], *, branch: str = "change") -> str:
        """Push one more commit; its sha."""
        self.sha = await self.repository.push(files, branch=branch)
        return self.sha

    async def lose_head(self) -> None:
        """The head vanishes from GitHub, as after a force push of which no delivery arrived."""
        (bare,) = self.town.forge.process.folder.rglob(f"{self.repository.id}.git")
        for ref in ("refs/heads/change", f"refs/pull/{self.number}/head"):
            await self.repository.git(bare, "update-ref", ref, "refs/heads/main")
        await self.repository.git(bare, "gc", "--quiet", "--prune=now")

    async def deliveries(self, name: str) -> list[dict[str, Any]]:
        """This repository's deliveries of that `event` or `event.action`, oldest first."""
        event, _, action = name.partition(".")
        rows = await self.town.forge.deliveries(event, action or None)
        return [row for row in rows if row["repository_id"] == self.repository.id]

    async def release(self, name: str) -> None:
        """Send what was held of these deliveries."""
        await self.town.forge.release([row["id"] for row in await self.deliveries(name)])

    async def processed(self, name: str) -> None:
        """Wait until the bot's log says that it is done with each of these deliveries."""
        rows = await self.deliveries(name)
        assert rows, name
        for row in rows:
            await self.says_in_the_log(row["guid"])

    async def says_in_the_log(self, guid: str, *, times: int = 1) -> None:
        """Wait until the bot's log says what became of a delivery, that many times."""

        async def said() -> bool:
            lines = [line for line in self.town.log().splitlines() if guid in line]
            return sum(any(end in line for end in _DONE) for line in lines) >= times

        await until(said, what=f"{guid} to be processed", deadline=PATIENCE)

    @property
    def git_path(self) -> str:
        """For faults: where git begins to read this repository."""
        return rf"^/{self.repository.full_name}\.git/info/refs"

    async def push_back(self, sha: str) -> None:
        """Force the branch back to a commit that was its head before."""
        clone = await self.repository._clone(self.repository.owner)
        refs = f"{sha}:refs/heads/change"
        await self.repository.git(clone, "push", "--quiet", "--force", "origin", refs, by=self.repository.owner)
        self.sha = sha

    async def say(self, text: str, *, by: Person | None = None) -> int:
        """Write a comment."""
        return await self.repository.comment(self.number, text, by=by)

    async def close(self) -> None:
        """Close the pull request."""
        await self.repository.close(self.number)

    async def reopen(self) -> None:
        """Open it again."""
        await self.repository.reopen(self.number)

    async def comments(self) -> list[str]:
        """What the bot wrote, oldest first."""
        rows = await self.repository.comments(self.number)
        return [row["body"] for row in rows if row["user"]["login"] == self.town.app.login]

    async def told(self) -> list[str]:
        """Everything that the bot's comment ever said, oldest first."""
        said = [row["request"]["payload"]["comment"] for row in await self.deliveries("issue_comment")]
        return [comment["body"] for comment in said if comment["user"]["login"] == self.town.app.login]

    async def says(self, text: str) -> None:
        """Wait until one of the bot's comments is exactly this."""

        async def said() -> bool:
            return text in await self.comments()

        await until(said, what=f"the comment {text!r}", deadline=PATIENCE)

    async def reactions(self, comment: int) -> list[str]:
        """The kinds of the reactions to a comment."""
        rows = await self.repository.rest("GET", f"/issues/comments/{comment}/reactions")
        return [row["content"] for row in rows]

    async def reads(self, *signs: str, any_of: tuple[str, ...] = ("",)) -> str:
        """The comment on the preview, once it holds all of these and one of those.

        Fails when it does not in the end, or when there are two such comments.
        """
        seen: list[str] = []

        async def holds() -> str | None:
            seen[:] = [body for body in await self.comments() if "<!-- branch-preview reply" not in body]
            fits = seen and all(sign in seen[0] for sign in signs) and any(sign in seen[0] for sign in any_of)
            return seen[0] if fits else None

        try:
            found: str = await until(holds, what=f"a comment that holds {signs}", deadline=PATIENCE)
        except TimeoutError:
            raise AssertionError(f"no comment holds {signs}; the bot wrote {seen}\n{self.town.log()[-4000:]}") from None
        assert len(seen) == 1, seen
        return found

    async def ready(self, sha: str | None = None) -> str:
        """The URL of the preview, once the comment says that this commit (the newest one) is ready."""
        body = await self.reads(sha or self.sha, any_of=("🟢", "🔴"))
        match = _OPEN.search(body)
        assert match, f"{body}\n{self.town.log()[-4000:]}"
        return match[1]

    async def page(self, url: str) -> str:
        """What a browser reads there."""
        async with httpx.AsyncClient(trust_env=False) as client:
            return (await client.get(url)).text

    async def page_shows(self, url: str, text: str) -> None:
        """Wait until the page shows this text."""

        async def shows() -> bool:
            return text in await self.page(url)

        await until(shows, what=f"{text!r} on {url}", deadline=PATIENCE)

    async def gone(self, url: str) -> None:
        """Nothing answers at this URL, and no sandbox is left."""

        async def silent() -> bool:
            try:
                await self.page(url)
            except httpx.HTTPError:
                return True
            return False

        await until(silent, what=f"{url} to be gone", deadline=PATIENCE)
        await self.no_sandbox()

    async def no_sandbox(self) -> None:
        """Wait until the engine has no sandbox for this pull request."""

        async def absent() -> bool:
            return self.sandbox not in await self.town.sandboxes.names()

        await until(absent, what=f"{self.sandbox} to be gone", deadline=PATIENCE)

    @property
    def sandbox(self) -> str:
        """The sandbox's name."""
        return sandbox_name(RepoId(self.repository.id), self.number)

    def plain(self, body: str) -> str:
        """A comment as it reads, without what differs from run to run.

        That is seconds, URLs, ids, and shas (the newest reads HEAD).
        """
        body = html.unescape(body)
        body = re.sub(r"http://127\.0\.0\.1:\d+", "URL", body)
        body = re.sub(rf"{re.escape(str(self.repository.id))}#{self.number}", "REPO#N", body)
        body = re.sub(r"\d+\.\d s", "N s", body)
        body = re.sub(r" \((?:fetch|install|prepare|start) N s[^)]*\)", " (PARTS)", body)
        return re.sub(r"\b[0-9a-f]{40}\b", "SHA", body.replace(self.sha, "HEAD"))
