"""One repository of a forge: pushed to by real git, and acted on as its people would. Part of `tests.forge_driver`."""

import asyncio
import base64
import os
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tests.forge_driver import ForgeDriver

Json = dict[str, Any]
Files = Mapping[str, str | bytes | None]
"""Paths to contents; None deletes a file."""


@dataclass(frozen=True, slots=True)
class Person:
    """A user with a token that speaks for it."""

    login: str
    token: str


@dataclass(slots=True)
class RepositoryDriver:
    """One repository, by default acted on by its owner. It stays the same through renames: calls go by id."""

    forge: "ForgeDriver"
    owner: Person
    shape: Json
    _clones: dict[str, Path] = field(default_factory=dict)

    @property
    def id(self) -> int:
        """GitHub's id."""
        number: int = self.shape["id"]
        return number

    @property
    def full_name(self) -> str:
        """`owner/name`, as it was when this was made or last renamed."""
        name: str = self.shape["full_name"]
        return name

    @property
    def clone_url(self) -> str:
        """Where git finds it."""
        return f"{self.forge.url}/{self.full_name}.git"

    async def rest(self, method: str, path: str = "", body: object = None, *, by: Person | str | None = None) -> Any:
        """A REST call below this repository."""
        return await self.forge.rest(by or self.owner, method, f"/repositories/{self.id}{path}", body)

    async def push(
        self,
        files: Files,
        branch: str = "main",
        message: str = "Change",
        *,
        by: Person | None = None,
        start: str | None = None,
    ) -> str:
        """Commit `files` on a branch (a new one leaves `main`), push it, and return the sha.

        `start` throws the branch away and begins it anew from that branch or sha: a force push.
        """
        person = by or self.owner
        clone = await self._clone(person)
        await self._check_out(clone, person, branch, start)
        for path, content in files.items():
            _write(clone / path, content)
        await self.git(clone, "add", "--all")
        await self.git(clone, "commit", "--quiet", "--allow-empty", "--message", message)
        force = ("--force",) if start else ()
        await self.git(clone, "push", "--quiet", *force, "origin", f"HEAD:refs/heads/{branch}", by=person)
        return await self.git(clone, "rev-parse", "HEAD")

    async def delete_branch(self, branch: str) -> None:
        """Push the deletion of a branch."""
        clone = await self._clone(self.owner)
        await self.git(clone, "push", "--quiet", "origin", f":refs/heads/{branch}", by=self.owner)

    async def open_pull(
        self, head: str, *, base: str = "main", title: str = "A change", by: Person | None = None, **more: Any
    ) -> int:
        """Open a pull request and return its number. `head` is a branch, or `owner:branch` of a fork."""
        body = {"title": title, "head": head, "base": base, **more}
        number: int = (await self.rest("POST", "/pulls", body, by=by))["number"]
        return number

    async def pull(self, number: int) -> Json:
        """A pull request as REST shows it."""
        shape: Json = await self.rest("GET", f"/pulls/{number}")
        return shape

    async def edit_pull(self, number: int, *, by: Person | None = None, **changes: Any) -> Json:
        """Change title, body, base, draft or state."""
        shape: Json = await self.rest("PATCH", f"/pulls/{number}", changes, by=by)
        return shape

    async def close(self, number: int, *, by: Person | None = None) -> None:
        """Close without merging."""
        await self.edit_pull(number, by=by, state="closed")

    async def reopen(self, number: int, *, by: Person | None = None) -> None:
        """Open again."""
        await self.edit_pull(number, by=by, state="open")

    async def merge(self, number: int, *, by: Person | None = None) -> None:
        """Merge and close."""
        await self.rest("PUT", f"/pulls/{number}/merge", {}, by=by)

    async def label(self, number: int, *names: str) -> None:
        """Replace the labels."""
        await self.rest("PUT", f"/issues/{number}/labels", {"labels": names})

    async def lock(self, number: int) -> None:
        """Lock the conversation."""
        await self.rest("PUT", f"/issues/{number}/lock", {})

    async def comment(self, number: int, body: str, *, by: Person | None = None) -> int:
        """Write a comment and return its id."""
        comment_id: int = (await self.rest("POST", f"/issues/{number}/comments", {"body": body}, by=by))["id"]
        return comment_id

    async def comments(self, number: int) -> list[Json]:
        """Up to a hundred comments, oldest first."""
        rows: list[Json] = await self.rest("GET", f"/issues/{number}/comments?per_page=100")
        return rows

    async def page(self, number: int) -> str:
        """The pull request's page, as HTML."""
        answer = await self.forge.http.get(f"/{self.full_name}/pull/{number}")
        return answer.raise_for_status().text

    async def fork(self, owner: Person) -> "RepositoryDriver":
        """A fork in another person's account."""
        body = {"repository": self.full_name, "owner": owner.login}
        return RepositoryDriver(self.forge, owner, await self.forge.admin("POST", "/forks", body))

    async def rename(self, name: str) -> None:
        """Give it another name; clones made before go on by redirect."""
        self.shape = await self.rest("PATCH", "", {"name": name})

    async def transfer(self, owner: Person) -> None:
        """Give it to somebody else, who acts on it by default from now on."""
        self.shape = await self.rest("POST", "/transfer", {"new_owner": owner.login})
        self.owner = owner

    async def delete(self) -> None:
        """Delete it."""
        await self.rest("DELETE", "")

    async def git(self, clone: Path, *arguments: str, by: Person | None = None) -> str:
        """What a git command prints, stripped. Raises CalledProcessError with what it complained of."""
        process = await asyncio.create_subprocess_exec(
            "git",
            "-C",
            str(clone),
            *arguments,
            env=git_environment(by.token if by else None),
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
        output, complaint = await process.communicate()
        if process.returncode:
            raise subprocess.CalledProcessError(process.returncode, ["git", *arguments], output, complaint)
        return output.decode().strip()

    async def _clone(self, person: Person) -> Path:
        if person.login not in self._clones:
            clone = self.forge.new_clone()
            await self.git(clone, "init", "--quiet", "--initial-branch", "main")
            await self.git(clone, "remote", "add", "origin", self.clone_url)
            self._clones[person.login] = clone
        return self._clones[person.login]

    async def _check_out(self, clone: Path, person: Person, branch: str, start: str | None) -> None:
        """Stand on the branch as the forge has it, or where it is to begin."""
        await self.git(clone, "fetch", "--quiet", "--prune", "origin", by=person)
        known = (await self.git(clone, "for-each-ref", "--format=%(refname:lstrip=3)", "refs/remotes")).split()
        begin = start or (branch if branch in known else "main" if "main" in known else None)
        if begin:
            commit = f"origin/{begin}" if begin in known else begin
            await self.git(clone, "checkout", "--quiet", "--force", "-B", branch, commit)


def git_environment(token: str | None = None) -> dict[str, str]:
    """The environment for git: a fixed identity, nobody's configuration, and perhaps a token for HTTP."""
    settings = {"user.name": "Forge Tests", "user.email": "tests@example.com"}
    if token:
        credentials = base64.b64encode(f"x-access-token:{token}".encode()).decode()
        settings["http.extraHeader"] = f"Authorization: Basic {credentials}"
    numbered = {
        f"GIT_CONFIG_{part}_{index}": text
        for index, pair in enumerate(settings.items())
        for part, text in zip(("KEY", "VALUE"), pair, strict=True)
    }
    plain = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1", "GIT_TERMINAL_PROMPT": "0"}
    return {"PATH": os.environ["PATH"], **plain, "GIT_CONFIG_COUNT": str(len(settings)), **numbered}


def _write(path: Path, content: str | bytes | None) -> None:
    if content is None:
        path.unlink()
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content.encode() if isinstance(content, str) else content)
