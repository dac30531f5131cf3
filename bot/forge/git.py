"""Bare repositories on disk, through the `git` command. One folder per repository id, so that a rename moves nothing.

Settings per repository: https://git-scm.com/docs/git-http-backend and `uploadpack.*` in https://git-scm.com/docs/git-config
"""

import asyncio
import os
import shutil
from dataclasses import dataclass
from pathlib import Path

NO_COMMIT = "0" * 40
"""How git and GitHub write "there was none" where a commit is expected."""

SETTINGS = {
    "http.receivepack": "true",
    "uploadpack.allowAnySHA1InWant": "true",
    "uploadpack.allowReachableSHA1InWant": "true",
    "uploadpack.allowFilter": "true",
    "receive.hideRefs": "refs/pull",
    "receive.denyDeleteCurrent": "ignore",
    "gc.auto": "0",  # nothing may vanish that a pull request of a deleted fork still points at
}


class GitFailed(Exception):
    """A git command exited with an error; the text is what it printed."""


@dataclass(frozen=True, slots=True)
class Commit:
    """A commit as `git log` tells it; `date` is ISO 8601."""

    sha: str
    tree: str
    parents: tuple[str, ...]
    author_name: str
    author_email: str
    date: str
    message: str


@dataclass(frozen=True, slots=True)
class Move:
    """A ref that a push moved; either side may be `NO_COMMIT`."""

    ref: str
    before: str
    after: str


@dataclass(frozen=True, slots=True)
class File:
    """An entry of a tree; `type` is `file` or `dir`, `size` in bytes."""

    path: str
    sha: str
    type: str
    size: int


@dataclass(frozen=True, slots=True)
class Difference:
    """How far a head is from its base: commits, files, and lines."""

    commits: int
    files: tuple[tuple[str, int, int], ...]

    @property
    def additions(self) -> int:
        """Lines added in all files."""
        return sum(added for _, added, _ in self.files)

    @property
    def deletions(self) -> int:
        """Lines deleted in all files."""
        return sum(deleted for _, _, deleted in self.files)


def environment() -> dict[str, str]:
    """The environment of every git process: nobody's configuration, nobody's prompt."""
    identity = {"NAME": "Forge", "EMAIL": "forge@localhost"}
    return {
        "PATH": os.environ.get("PATH", os.defpath),
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_TERMINAL_PROMPT": "0",
        **{f"GIT_{role}_{part}": value for role in ("AUTHOR", "COMMITTER") for part, value in identity.items()},
    }


class Git:
    """The bare repositories below one folder."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self._locks: dict[int, asyncio.Lock] = {}

    def path(self, repo_id: int) -> Path:
        """The folder of a repository."""
        return self.root / f"{repo_id}.git"

    def lock(self, repo_id: int) -> asyncio.Lock:
        """Whoever changes refs, or compares them before and after, holds this."""
        return self._locks.setdefault(repo_id, asyncio.Lock())

    async def run(self, repo_id: int, *arguments: str) -> bytes:
        """What a git command prints. Raises GitFailed."""
        return await self._git("--git-dir", str(self.path(repo_id)), *arguments)

    async def create(self, repo_id: int, default_branch: str) -> None:
        """Make an empty repository."""
        path = self.path(repo_id)
        path.parent.mkdir(parents=True, exist_ok=True)
        await self._git("init", "--quiet", "--bare", f"--initial-branch={default_branch}", str(path))
        with (path / "config").open("a") as config:
            for key, value in SETTINGS.items():
                section, _, name = key.partition(".")
                config.write(f"[{section}]\n\t{name} = {value}\n")

    async def copy_branches(self, source_id: int, target_id: int) -> None:
        """Bring every branch and tag of one repository into another."""
        refs = ("refs/heads/*:refs/heads/*", "refs/tags/*:refs/tags/*")
        await self.run(target_id, "fetch", "--quiet", str(self.path(source_id)), *refs)

    async def bring(self, source_id: int, target_id: int, sha: str, ref: str) -> None:
        """Make `ref` in the target point at a commit of the source, with all its objects."""
        if source_id != target_id:
            await self.run(target_id, "fetch", "--quiet", "--no-tags", str(self.path(source_id)), sha)
        await self.run(target_id, "update-ref", ref, sha)

    def delete(self, repo_id: int) -> None:
        """Remove a repository from disk."""
        shutil.rmtree(self.path(repo_id), ignore_errors=True)

    async def refs(self, repo_id: int) -> dict[str, str]:
        """Every branch and tag with the object it points at."""
        listing = await self.run(
            repo_id, "for-each-ref", "--format=%(objectname) %(refname)", "refs/heads", "refs/tags"
        )
        return {ref: sha for sha, _, ref in (line.partition(" ") for line in listing.decode().splitlines())}

    async def resolve(self, repo_id: int, name: str) -> str | None:
        """The commit that a branch, tag, `refs/…` or sha names, or None."""
        if name.startswith("-"):
            return None
        for candidate in (f"refs/heads/{name}", f"refs/tags/{name}", name):
            try:
                found = await self.run(repo_id, "rev-parse", "--verify", "--quiet", f"{candidate}^{{commit}}")
            except GitFailed:
                continue
            return found.decode().strip()
        return None

    async def commits(self, repo_id: int, tip: str, *, without: str | None = None, limit: int = 250) -> list[Commit]:
        """The commits reachable from `tip` and not from `without`, newest first."""
        form = "%H%x00%T%x00%P%x00%an%x00%ae%x00%cI%x00%B%x01"
        excluded = [f"^{without}"] if without else []
        output = await self.run(repo_id, "log", f"--max-count={limit}", f"--format={form}", tip, *excluded, "--")
        return [_commit(record) for record in output.decode(errors="replace").split("\x01") if record.strip()]

    async def difference(self, repo_id: int, base: str, head: str) -> Difference:
        """What `head` adds to the point at which it left `base`."""
        count = await self.run(repo_id, "rev-list", "--count", f"{base}..{head}")
        lines = await self.run(repo_id, "diff", "--numstat", "-z", "--no-renames", f"{base}...{head}", "--")
        rows = (line.split("\t", 2) for line in lines.decode(errors="replace").split("\0") if line)
        files = tuple((path, _number(added), _number(deleted)) for added, deleted, path in rows)
        return Difference(int(count), files)

    async def entries(self, repo_id: int, sha: str, path: str) -> list[File]:
        """The file at a path, or the entries of the folder there; empty when there is nothing."""
        exact = await self._tree(repo_id, sha, path) if path else []
        if path and (not exact or exact[0].type == "file"):
            return exact
        return await self._tree(repo_id, sha, f"{path}/" if path else "")

    async def read(self, repo_id: int, blob: str) -> bytes:
        """A blob's bytes."""
        return await self.run(repo_id, "cat-file", "blob", blob)

    async def merge(self, repo_id: int, base: str, head: str, branch: str, message: str) -> str:
        """Merge `head` into `branch` (now at `base`) and return the merge commit. Raises GitFailed on a conflict."""
        tree = (await self.run(repo_id, "merge-tree", "--write-tree", base, head)).decode().split()[0]
        parents = ("-p", base, "-p", head)
        sha = (await self.run(repo_id, "commit-tree", tree, *parents, "-m", message)).decode().strip()
        await self.run(repo_id, "update-ref", f"refs/heads/{branch}", sha, base)
        return sha

    async def _tree(self, repo_id: int, sha: str, path: str) -> list[File]:
        listing = await self.run(
            repo_id, "ls-tree", "-z", "--long", "--full-tree", sha, *(["--", path] if path else [])
        )
        return [_file(line) for line in listing.decode(errors="replace").split("\0") if line]

    async def _git(self, *arguments: str) -> bytes:
        pipe = asyncio.subprocess.PIPE
        process = await asyncio.create_subprocess_exec(
            "git", *arguments, stdin=asyncio.subprocess.DEVNULL, stdout=pipe, stderr=pipe, env=environment()
        )
        output, complaint = await process.communicate()
        if process.returncode:
            raise GitFailed((complaint or output).decode(errors="replace").strip())
        return output


def _commit(record: str) -> Commit:
    sha, tree, parents, name, email, date, message = record.strip("\n").split("\0")
    return Commit(sha, tree, tuple(parents.split()), name, email, date, message.strip("\n"))


def _file(line: str) -> File:
    meta, _, path = line.partition("\t")
    _, kind, sha, size = meta.split()
    return File(path, sha, "dir" if kind == "tree" else "file", 0 if size == "-" else int(size))


def _number(text: str) -> int:
    return int(text) if text.isdigit() else 0
