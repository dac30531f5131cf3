"""GitHub, through PyGithub: the only file that talks to it.

PyGithub is synchronous and one `Github` object serves one thread at a time (two threads on one object can send each
other's requests: https://github.com/PyGithub/PyGithub/issues/1257), so every thread of our pool has its own. Its
throttle and its retries of POST are off: a comment must never be posted twice.
"""

import asyncio
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import datetime
from typing import Any, TypeVar
from urllib.parse import quote

import jwt
import requests
from github import Auth, Github, GithubException, UnknownObjectException
from github.GithubRetry import GithubRetry
from github.PullRequest import PullRequest as GithubPull

from bot.errors import GitHubUnavailable, OperatorFault, SourceUnavailable
from bot.preview import CommitSha, PullRequest, RepoId, RepoName, Repository
from bot.redaction import Redactor
from bot.settings import Settings

T = TypeVar("T")

TOKEN_MARGIN_SECONDS = 300
"""An installation token this close to its end is renewed first."""
WRITERS = frozenset({"write", "maintain", "admin"})


@dataclass(frozen=True, slots=True)
class CloneCredentials:
    """HTTP basic credentials for one repository, good for reading its contents and nothing else."""

    username: str
    password: str


@dataclass(slots=True)
class _Token:
    value: str
    expires_at: float


class GitHub:
    """Reads pull requests and permissions, writes comments and reactions. Every method may raise GitHubUnavailable
    (the world's fault, try again) and OperatorFault (credentials or permissions are wrong)."""

    def __init__(self, settings: Settings, redactor: Redactor) -> None:
        self._settings = settings
        self._redactor = redactor
        self._threads = ThreadPoolExecutor(8, thread_name_prefix="github")
        self._of_thread = threading.local()
        self._tokens: dict[int | None, _Token] = {}
        self._renewing = threading.Lock()
        self._login: str | None = None

    async def repository(self, repo_id: RepoId, installation_id: int | None) -> Repository | None:
        """A repository by its number, under its name of today; None when it is gone or hidden from us."""
        found = await self._maybe(installation_id, lambda gh: _unlazy(gh.get_repo(repo_id)))
        return _repository(found.raw_data, installation_id) if found else None

    async def pull(self, repo_id: RepoId, number: int, installation_id: int | None) -> PullRequest | None:
        """A pull request as it is now, with its repository; None when there is none, or the repository is gone.

        Asked for by the repository's number, so that no rename comes in between.
        """
        found = await self._maybe(installation_id, lambda gh: _unlazy(gh.get_repo(repo_id).get_pull(number)))
        return _pull(found, installation_id) if found else None

    async def may_write(self, repository: Repository, login: str) -> bool:
        """Whether this person has permission to write. Membership words of a payload prove nothing; this does."""

        def read(gh: Github) -> bool:
            path = f"/repositories/{repository.id}/collaborators/{quote(login)}/permission"
            _, answer = gh.requester.requestJsonAndCheck("GET", path)
            # `permission` is the nearest classic role of a custom one: https://docs.github.com/rest/collaborators
            return not WRITERS.isdisjoint({answer.get("role_name"), answer.get("permission")})

        return bool(await self._maybe(repository.installation_id, read))

    async def find_comment(self, repository: Repository, number: int, marker: str) -> int | None:
        """The comment of ours that begins with the marker, looked for through all pages.

        Further down a comment may quote a repository's words, and so any marker.
        """
        login = await self.login()

        def read(gh: Github) -> int | None:
            for comment in gh.get_repo(repository.id).get_issue(number).get_comments():
                if comment.user and comment.user.login == login and (comment.body or "").startswith(marker):
                    return int(comment.id)
            return None

        return await self._maybe(repository.installation_id, read)

    async def create_comment(self, repository: Repository, number: int, body: str) -> int | None:
        """Post a comment; its id is returned, or None when the pull request is gone. Never repeated by itself."""

        def write(gh: Github) -> dict[str, Any]:
            return dict(gh.get_repo(repository.id).get_issue(number).create_comment(body).raw_data)

        answer = await self._maybe(repository.installation_id, write)
        return _written_id(answer) if answer is not None else None

    async def edit_comment(self, repository: Repository, comment_id: int, body: str) -> bool:
        """Change a comment; False when it is gone."""

        def write(gh: Github) -> dict[str, Any]:
            path = f"/repositories/{repository.id}/issues/comments/{comment_id}"
            return dict(gh.requester.requestJsonAndCheck("PATCH", path, input={"body": body})[1])

        answer = await self._maybe(repository.installation_id, write)
        return answer is not None and bool(_written_id(answer))

    async def react(self, repository: Repository, comment_id: int, reaction: str) -> None:
        """Add a reaction (`eyes`, `+1`, `confused`, …) to somebody's comment; GitHub keeps one of each kind."""

        def write(gh: Github) -> None:
            path = f"/repositories/{repository.id}/issues/comments/{comment_id}/reactions"
            gh.requester.requestJsonAndCheck("POST", path, input={"content": reaction})

        await self._maybe(repository.installation_id, write)

    async def clone_credentials(self, repository: Repository) -> CloneCredentials | None:
        """Credentials for one fetch. None for a public repository, which needs none.

        An App's token is made for this use, for this repository, `contents: read` only, and kept nowhere. Raises
        SourceUnavailable when the repository is gone, or the App no longer installed on it.
        """
        if not repository.private:
            return None
        if repository.installation_id is None or not self._settings.github_app_id:
            return CloneCredentials("x-access-token", self._settings.github_token.get_secret_value())
        scope = {"repository_ids": [repository.id], "permissions": {"contents": "read"}}
        installation = repository.installation_id
        try:
            token = await self._in_thread(lambda: self._issue(installation, scope))
        except UnknownObjectException:
            raise SourceUnavailable("The GitHub App is not installed on this repository any more.") from None
        return CloneCredentials("x-access-token", token.value)

    async def login(self) -> str:
        """The name under which our comments appear."""
        if self._login is None:
            try:
                self._login = await self._in_thread(self._read_login)
            except UnknownObjectException as error:
                raise OperatorFault(f"GITHUB_APP_ID: {self._settings.github_api_url} knows no such App") from error
        return self._login

    def close(self) -> None:
        """Wait for calls under way."""
        self._threads.shutdown(wait=True)

    async def _maybe(self, installation_id: int | None, work: Callable[[Github], T]) -> T | None:
        try:
            return await self._call(installation_id, work)
        except UnknownObjectException:
            return None

    async def _call(self, installation_id: int | None, work: Callable[[Github], T]) -> T:
        def attempt() -> T:
            try:
                return work(self._client(installation_id))
            except GithubException as error:
                if error.status != 401 or not self._settings.github_app_id:
                    raise
            self._tokens.pop(installation_id, None)  # expired or revoked early: once more with a fresh one
            return work(self._client(installation_id))

        return await self._in_thread(attempt)

    async def _in_thread(self, work: Callable[[], T]) -> T:
        try:
            return await asyncio.get_running_loop().run_in_executor(self._threads, work)
        except UnknownObjectException:
            raise
        except GithubException as error:
            raise _translate(error, self._settings.github_api_url) from error
        except requests.RequestException as error:
            raise GitHubUnavailable(f"GitHub does not answer at {self._settings.github_api_url}: {error}") from error

    def _client(self, installation_id: int | None) -> Github:
        token = self._token(installation_id)
        clients: dict[str, Github] = self._of_thread.__dict__.setdefault("clients", {})
        if token not in clients:
            clients.clear()
            clients[token] = self._connect(Auth.Token(token))
        return clients[token]

    def _connect(self, auth: Auth.Auth) -> Github:
        retry = GithubRetry(
            total=2, backoff_factor=0.3, allowed_methods={"GET", "HEAD"}, max_rate_limit_wait=5, secondary_rate_wait=5
        )
        return Github(
            auth=auth, base_url=self._settings.github_api_url, retry=retry, per_page=100, lazy=True, timeout=15,
            seconds_between_requests=None, seconds_between_writes=None, user_agent="branch-preview-bot",
        )  # fmt: skip

    def _token(self, installation_id: int | None) -> str:
        if not self._settings.github_app_id:
            return self._settings.github_token.get_secret_value()
        if installation_id is None:
            raise OperatorFault("this event came without an installation: send the App's webhook, not a repository's")
        with self._renewing:
            token = self._tokens.get(installation_id)
            if token is None or token.expires_at - time.time() < TOKEN_MARGIN_SECONDS:
                token = self._tokens[installation_id] = self._issue(installation_id, {})
            return token.value

    def _issue(self, installation_id: int, scope: dict[str, Any]) -> _Token:
        path = f"/app/installations/{installation_id}/access_tokens"
        _, answer = self._app().requester.requestJsonAndCheck("POST", path, input=scope)
        self._redactor.add(answer["token"])
        return _Token(answer["token"], datetime.fromisoformat(answer["expires_at"]).timestamp())

    def _app(self) -> Github:
        if "app" not in self._of_thread.__dict__:
            auth = Auth.AppAuth(self._settings.github_app_id, self._settings.private_key)
            try:
                auth.create_jwt()
            except (jwt.PyJWTError, ValueError) as error:
                raise OperatorFault(f"GITHUB_APP_PRIVATE_KEY: this is no private key in PEM form ({error})") from error
            self._of_thread.app = self._connect(auth)
        return self._of_thread.app  # type: ignore[no-any-return]

    def _read_login(self) -> str:
        if self._settings.github_app_id:
            _, answer = self._app().requester.requestJsonAndCheck("GET", "/app")
            return f"{answer['slug']}[bot]"
        return str(self._client(None).get_user().login)


def _unlazy(thing: T) -> T:
    """Fetch a lazy PyGithub object now, in this thread."""
    thing.complete()  # type: ignore[attr-defined]
    return thing


def _repository(raw: dict[str, Any], installation_id: int | None) -> Repository:
    return Repository(RepoId(raw["id"]), RepoName(raw["full_name"]), raw["clone_url"], raw["private"], installation_id)


def _pull(found: GithubPull, installation_id: int | None) -> PullRequest:
    raw = found.raw_data
    head, author = raw["head"], raw.get("user") or {}
    return PullRequest(
        repository=_repository(raw["base"]["repo"], installation_id),
        number=raw["number"],
        title=raw["title"],
        open=raw["state"] == "open",
        draft=bool(raw.get("draft")),
        locked=bool(raw.get("locked")),
        author=author.get("login", "ghost"),
        author_is_bot=author.get("type") == "Bot",
        head_sha=CommitSha(head["sha"]),
        head_ref=head["ref"],
        head_repo_id=RepoId(head["repo"]["id"]) if head.get("repo") else None,
        base_ref=raw["base"]["ref"],
        labels=frozenset(label["name"] for label in raw.get("labels", ())),
    )


def _written_id(answer: dict[str, Any]) -> int:
    """The id of what was written. A moved repository answers 307, which PyGithub takes for success."""
    if "id" not in answer:
        raise GitHubUnavailable("GitHub answered a write with a redirect: the repository has moved")
    return int(answer["id"])


def _translate(error: GithubException, url: str) -> Exception:
    message = str(error.data.get("message", error.data) if isinstance(error.data, dict) else error.data)[:300]
    headers = {name.lower(): value for name, value in (error.headers or {}).items()}
    limited = error.status == 429 or (error.status == 403 and ("rate limit" in message.lower()))
    if limited or error.status >= 500 or error.status < 400:
        wait = headers.get("retry-after") or ""
        return GitHubUnavailable(
            f"GitHub says {error.status}: {message}", retry_after=float(wait) if wait.isdigit() else None
        )
    if error.status == 401:
        return OperatorFault(
            f"GitHub at {url} refuses the credentials ({message}): check GITHUB_TOKEN, or GITHUB_APP_ID and "
            "GITHUB_APP_PRIVATE_KEY"
        )
    if error.status == 403:
        return OperatorFault(
            f"GitHub forbids this ({message}): give the App (or token) the permissions contents: read and "
            "pull requests: write, and install it on the repository"
        )
    return GitHubUnavailable(f"GitHub says {error.status}: {message}")
