"""The forge's memory: tables of records, the questions asked of them, and one JSON file that holds it all."""

from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field

from bot.forge.records import (
    App,
    CheckRun,
    Comment,
    CommitStatus,
    Deployment,
    DeploymentStatus,
    Hook,
    Installation,
    Issue,
    Reaction,
    Repository,
    Token,
    User,
)


def now() -> datetime:
    """The time as GitHub tells it: UTC, whole seconds."""
    return datetime.now(UTC).replace(microsecond=0)


class State(BaseModel):
    """Every table. Ids come from one counter, so that no two things of any kind share one.

    `former_names` maps a lower-case `owner/name` that was renamed away to the repository's id.
    """

    model_config = ConfigDict(extra="forbid")

    last_id: int = 1000
    users: dict[str, User] = Field(default_factory=dict)
    tokens: dict[str, Token] = Field(default_factory=dict)
    repositories: dict[int, Repository] = Field(default_factory=dict)
    former_names: dict[str, int] = Field(default_factory=dict)
    issues: dict[int, Issue] = Field(default_factory=dict)
    comments: dict[int, Comment] = Field(default_factory=dict)
    reactions: dict[int, Reaction] = Field(default_factory=dict)
    deployments: dict[int, Deployment] = Field(default_factory=dict)
    deployment_statuses: dict[int, DeploymentStatus] = Field(default_factory=dict)
    commit_statuses: dict[int, CommitStatus] = Field(default_factory=dict)
    check_runs: dict[int, CheckRun] = Field(default_factory=dict)
    apps: dict[int, App] = Field(default_factory=dict)
    installations: dict[int, Installation] = Field(default_factory=dict)
    hooks: dict[int, Hook] = Field(default_factory=dict)

    def new_id(self) -> int:
        """The next number of the one counter."""
        self.last_id += 1
        return self.last_id

    def user(self, login: str) -> User | None:
        """A user by login, in any case."""
        return self.users.get(login.lower())

    def repository(self, full_name: str) -> Repository | None:
        """A repository by its present `owner/name`, in any case."""
        wanted = full_name.lower()
        return next((r for r in self.repositories.values() if r.full_name.lower() == wanted), None)

    def repository_once(self, full_name: str) -> Repository | None:
        """A repository by its present name, or by one that it had before."""
        present = self.repository(full_name)
        return present or self.repositories.get(self.former_names.get(full_name.lower(), 0))

    def issue(self, repo_id: int, number: int) -> Issue | None:
        """An issue or pull request by its number."""
        return next((i for i in self.issues.values() if i.repo_id == repo_id and i.number == number), None)

    def issues_of(self, repo_id: int) -> list[Issue]:
        """A repository's issues and pull requests, oldest first."""
        return [issue for issue in self.issues.values() if issue.repo_id == repo_id]

    def next_number(self, repo_id: int) -> int:
        """The number that the next issue or pull request gets."""
        return max((issue.number for issue in self.issues_of(repo_id)), default=0) + 1

    def comments_on(self, issue: Issue) -> list[Comment]:
        """An issue's comments, oldest first."""
        return [c for c in self.comments.values() if (c.repo_id, c.number) == (issue.repo_id, issue.number)]

    def reactions_to(self, comment_id: int) -> list[Reaction]:
        """A comment's reactions, oldest first."""
        return [reaction for reaction in self.reactions.values() if reaction.comment_id == comment_id]

    def statuses_of(self, deployment_id: int) -> list[DeploymentStatus]:
        """A deployment's statuses, newest first."""
        found = [status for status in self.deployment_statuses.values() if status.deployment_id == deployment_id]
        return found[::-1]

    def checks_of(self, repo_id: int, sha: str) -> list[CheckRun]:
        """The check runs of a commit, oldest first."""
        return [run for run in self.check_runs.values() if (run.repo_id, run.head_sha) == (repo_id, sha)]

    def pulls_from(self, repo_id: int, branch: str) -> Iterator[tuple[Issue, Repository]]:
        """The open pull requests whose head is that branch, each with the repository that it is on."""
        for issue in list(self.issues.values()):
            if (
                issue.pull
                and issue.state == "open"
                and (issue.pull.head_repo_id, issue.pull.head_ref) == (repo_id, branch)
            ):
                yield issue, self.repositories[issue.repo_id]

    def network(self, repository: Repository) -> list[Repository]:
        """The repository with its forks, its parent and its parent's forks."""
        root = repository.fork_of or repository.id
        return [r for r in self.repositories.values() if root in (r.id, r.fork_of)]

    def repositories_of(self, installation: Installation) -> list[Repository]:
        """The repositories that an installation reaches."""
        ids = installation.repository_ids
        return [
            repository
            for repository in self.repositories.values()
            if repository.owner == installation.account and (ids is None or repository.id in ids)
        ]

    def installations_on(self, repository: Repository) -> Iterable[Installation]:
        """The installations that reach a repository and are not suspended."""
        for installation in self.installations.values():
            if installation.suspended_at is None and repository in self.repositories_of(installation):
                yield installation

    def forget_repository(self, repository: Repository) -> None:
        """Drop a repository and all that hangs on it. Pull requests from it elsewhere stay, headless."""
        del self.repositories[repository.id]
        comments = {comment.id for comment in self.comments.values() if comment.repo_id == repository.id}
        deployments = {row.id for row in self.deployments.values() if row.repo_id == repository.id}
        self.reactions = {key: row for key, row in self.reactions.items() if row.comment_id not in comments}
        self.deployment_statuses = {
            key: row for key, row in self.deployment_statuses.items() if row.deployment_id not in deployments
        }
        self.comments = {key: row for key, row in self.comments.items() if row.repo_id != repository.id}
        self.issues = {key: row for key, row in self.issues.items() if row.repo_id != repository.id}
        self.deployments = {key: row for key, row in self.deployments.items() if row.repo_id != repository.id}
        self.check_runs = {key: row for key, row in self.check_runs.items() if row.repo_id != repository.id}
        self.commit_statuses = {key: row for key, row in self.commit_statuses.items() if row.repo_id != repository.id}
        self.hooks = {key: row for key, row in self.hooks.items() if row.repo_id != repository.id}
        self.former_names = {name: key for name, key in self.former_names.items() if key != repository.id}


def load(path: Path) -> State:
    """The state saved at `path`, or an empty one. Raises ValueError (pydantic's) when the file is not ours."""
    return State.model_validate_json(path.read_bytes()) if path.exists() else State()


def write_atomically(path: Path, content: str) -> None:
    """Replace a file in one move: a reader, or the next start, sees the old content or the new one, whole."""
    beside = path.with_suffix(".partial")
    beside.touch(mode=0o600)
    beside.write_text(content)
    beside.replace(path)
