"""Git objects, carried from GitHub into a running sandbox.

A push to a pull request whose sandbox runs must bring the new commit in, while the project's own code runs there. A
`git fetch` inside would show that code our credentials. So the bot fetches, into a bare cache that checks out nothing,
and hands over a pack that holds no more than what the sandbox lacks.
"""

import asyncio
import base64
import os
import shutil
import signal
import tempfile
import weakref
from contextlib import suppress
from pathlib import Path

from bot.diagnosis import fetch_failure
from bot.errors import GitHubUnavailable, OperatorFault, SourceUnavailable
from bot.github import CloneCredentials
from bot.preview import CommitSha, RepoId, Repository

FETCH_LIMIT_SECONDS = 300
END_LIMIT_SECONDS = 5
_PASSED = ("PATH", "SSL_CERT_FILE", "SSL_CERT_DIR", "GIT_SSL_CAINFO", "HTTPS_PROXY", "HTTP_PROXY", "NO_PROXY")


class _Unclear(SourceUnavailable):
    """git failed, and did not blame GitHub: it may be the cache."""


class Objects:
    """A bare cache per repository, below one folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._locks: weakref.WeakValueDictionary[RepoId, asyncio.Lock] = weakref.WeakValueDictionary()

    async def pack(
        self, repository: Repository, *, have: CommitSha, want: CommitSha, credentials: CloneCredentials | None
    ) -> bytes:
        """A thin pack with the objects of `want` that a checkout of `have` lacks.

        Raises SourceUnavailable when GitHub has no such commit, GitHubUnavailable when it does not answer.
        """
        lock = self._locks.setdefault(repository.id, asyncio.Lock())
        async with lock:
            try:
                return await self._pack(repository, have, want, credentials)
            except _Unclear:
                self.forget(repository.id)  # a crash or a full disk may have spoilt it
                return await self._pack(repository, have, want, credentials)

    def forget(self, repo_id: RepoId) -> None:
        """Drop a repository's cache."""
        shutil.rmtree(self._folder / f"{repo_id}.git", ignore_errors=True)

    async def _pack(
        self, repository: Repository, have: CommitSha, want: CommitSha, credentials: CloneCredentials | None
    ) -> bytes:
        cache = self._folder / f"{repository.id}.git"
        if not (cache / "HEAD").exists():
            await self._git(None, "init", "--quiet", "--bare", str(cache))
        known = await self._fetch(cache, repository, [have, want], credentials)
        revisions = f"{want}\n" + (f"^{have}\n" if known else "")
        words = ("pack-objects", "--revs", "--thin", "--stdout", "--quiet", "--shallow")
        return await self._git(cache, *words, given=revisions.encode())

    async def _fetch(
        self, cache: Path, repository: Repository, shas: list[CommitSha], credentials: CloneCredentials | None
    ) -> bool:
        """Fetch the last of `shas`, and the others if they still exist; whether they do."""
        words = ("fetch", "--quiet", "--depth=1", "--no-tags", "--no-write-fetch-head", "--", repository.clone_url)
        try:
            await self._git(cache, *words, *shas, credentials=credentials)
        except SourceUnavailable:
            await self._git(cache, *words, shas[-1], credentials=credentials)
            return False
        return True

    async def _git(
        self, cache: Path | None, *words: str, given: bytes = b"", credentials: CloneCredentials | None = None
    ) -> bytes:
        where = () if cache is None else ("--git-dir", str(cache))
        pipe = asyncio.subprocess.PIPE
        try:
            self._folder.parent.mkdir(parents=True, exist_ok=True)
            self._folder.mkdir(mode=0o700, exist_ok=True)  # other users of the machine must not read it
            with tempfile.TemporaryFile() as stdin:  # not a pipe: a command that ends early would break it
                stdin.write(given)
                stdin.seek(0)
                process = await asyncio.create_subprocess_exec(
                    "git", *where, *words, env=self._environment(credentials), cwd=self._folder,
                    stdin=stdin, stdout=pipe, stderr=pipe, start_new_session=True,
                )  # fmt: skip
        except FileNotFoundError:
            raise OperatorFault(
                "git is not installed on this machine: install it (for instance apt install git)"
            ) from None
        except OSError as error:
            raise OperatorFault(f"PREVIEW_DATA_DIR: cannot use {self._folder}: {error.strerror}") from None
        try:
            async with asyncio.timeout(FETCH_LIMIT_SECONDS):
                out, err = await process.communicate()
        except TimeoutError:
            raise GitHubUnavailable(f"git {words[0]} took more than {FETCH_LIMIT_SECONDS} s") from None
        finally:
            if process.returncode is None:
                await _end(process)
        if process.returncode:
            said = err.decode("utf-8", "replace")
            raise fetch_failure(said) or _Unclear("The commit could not be fetched.", log=said.strip()[-2000:])
        return out

    def _environment(self, credentials: CloneCredentials | None) -> dict[str, str]:
        """Nothing of the machine's git configuration; credentials in this process's environment and nowhere else."""
        settings = {"core.hooksPath": "/dev/null", "gc.auto": "0", "protocol.allow": "never"}
        settings |= {f"protocol.{name}.allow": "always" for name in ("https", "http", "file")}
        if credentials:
            pair = base64.b64encode(f"{credentials.username}:{credentials.password}".encode()).decode()
            settings["http.extraHeader"] = f"Authorization: Basic {pair}"
        environment = {name: os.environ[name] for name in _PASSED if name in os.environ}
        environment |= {
            "HOME": str(self._folder),
            "GIT_CONFIG_NOSYSTEM": "1",
            "GIT_CONFIG_GLOBAL": os.devnull,
            "GIT_TERMINAL_PROMPT": "0",
            "GIT_CONFIG_COUNT": str(len(settings)),
        }
        for index, (key, value) in enumerate(settings.items()):
            environment |= {f"GIT_CONFIG_KEY_{index}": key, f"GIT_CONFIG_VALUE_{index}": value}
        return environment


async def _end(process: asyncio.subprocess.Process) -> None:
    """End git and what it started. It is asked first: killed, it would leave its lock files in the cache."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        with suppress(ProcessLookupError):
            os.killpg(process.pid, number)
        with suppress(TimeoutError):
            async with asyncio.timeout(END_LIMIT_SECONDS):
                await process.wait()
                return
