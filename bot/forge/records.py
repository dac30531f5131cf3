"""What the forge remembers: one frozen value per noun of GitHub's API. A change is a new value in the same place."""

from datetime import datetime
from enum import StrEnum
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, JsonValue


class Role(StrEnum):
    """What a person may do in a repository, weakest first."""

    NONE = "none"
    READ = "read"
    TRIAGE = "triage"
    WRITE = "write"
    MAINTAIN = "maintain"
    ADMIN = "admin"

    def covers(self, other: "Role") -> bool:
        """Whether this role includes everything that `other` allows."""
        order = list(Role)
        return order.index(self) >= order.index(other)


class Record(BaseModel):
    """A row: frozen, and strict about its fields."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class User(Record):
    """A person, an organization or an App's bot."""

    id: int
    login: str
    type: Literal["User", "Bot", "Organization"]
    created_at: datetime


class Token(Record):
    """What a bearer may do. Without `installation_id` it is a person's own token and never expires."""

    login: str
    installation_id: int | None = None
    repository_ids: tuple[int, ...] | None = None
    """None: every repository of the installation."""
    permissions: dict[str, str] = Field(default_factory=dict)
    expires_at: datetime | None = None


class Repository(Record):
    """A repository. `roles` maps lower-case logins to what each may do; the owner is always admin."""

    id: int
    owner: str
    name: str
    private: bool
    created_at: datetime
    updated_at: datetime
    pushed_at: datetime
    description: str | None = None
    default_branch: str = "main"
    fork_of: int | None = None
    archived: bool = False
    roles: dict[str, Role] = Field(default_factory=dict)

    @property
    def full_name(self) -> str:
        """`owner/name`."""
        return f"{self.owner}/{self.name}"


class Pull(Record):
    """What makes an issue a pull request. `head_repo_id` may name a repository that is gone."""

    id: int
    head_repo_id: int
    head_owner: str
    head_ref: str
    head_sha: str
    base_ref: str
    base_sha: str
    draft: bool = False
    merged_at: datetime | None = None
    merged_by: str | None = None
    merge_commit_sha: str | None = None
    commits: int = 0
    additions: int = 0
    deletions: int = 0
    changed_files: int = 0


class Issue(Record):
    """An issue, or with `pull` a pull request: GitHub numbers them in one row."""

    id: int
    repo_id: int
    number: int
    title: str
    author: str
    created_at: datetime
    updated_at: datetime
    body: str | None = None
    state: Literal["open", "closed"] = "open"
    closed_at: datetime | None = None
    locked: bool = False
    lock_reason: str | None = None
    labels: tuple[str, ...] = ()
    pull: Pull | None = None


class Comment(Record):
    """A comment on an issue or pull request. `app_id` is set when an App wrote it."""

    id: int
    repo_id: int
    number: int
    author: str
    body: str
    created_at: datetime
    updated_at: datetime
    edited: bool = False
    app_id: int | None = None


class Reaction(Record):
    """One user's reaction to one comment."""

    id: int
    comment_id: int
    author: str
    content: str
    created_at: datetime


class Deployment(Record):
    """A request to deploy a ref."""

    id: int
    repo_id: int
    sha: str
    ref: str
    task: str
    environment: str
    creator: str
    created_at: datetime
    updated_at: datetime
    description: str | None = None
    payload: JsonValue = None
    transient_environment: bool = False
    production_environment: bool = False
    app_id: int | None = None


class DeploymentStatus(Record):
    """How a deployment stands, as its creator last said."""

    id: int
    deployment_id: int
    state: str
    creator: str
    created_at: datetime
    description: str = ""
    environment: str = ""
    environment_url: str = ""
    log_url: str = ""
    app_id: int | None = None


class CommitStatus(Record):
    """One context's verdict on a commit."""

    id: int
    repo_id: int
    sha: str
    state: str
    context: str
    creator: str
    created_at: datetime
    description: str | None = None
    target_url: str | None = None


class CheckAction(Record):
    """A button on a check run."""

    label: str
    description: str
    identifier: str


class CheckRun(Record):
    """An App's check of a commit. Runs of one App on one commit share a suite."""

    id: int
    repo_id: int
    app_id: int
    suite_id: int
    name: str
    head_sha: str
    status: str = "queued"
    conclusion: str | None = None
    external_id: str = ""
    details_url: str | None = None
    started_at: datetime | None = None
    completed_at: datetime | None = None
    title: str | None = None
    summary: str | None = None
    text: str | None = None
    annotations_count: int = 0
    actions: tuple[CheckAction, ...] = ()


class App(Record):
    """A GitHub App with its keys; `pem` is the private key that GitHub itself would not keep."""

    id: int
    slug: str
    name: str
    owner: str
    client_id: str
    client_secret: str
    pem: str
    webhook_secret: str
    webhook_url: str | None
    external_url: str
    description: str | None
    permissions: dict[str, str]
    events: tuple[str, ...]
    created_at: datetime

    @property
    def login(self) -> str:
        """The login of the bot as which the App speaks."""
        return f"{self.slug}[bot]"


class Installation(Record):
    """An App on an account. `repository_ids` None means every repository of the account."""

    id: int
    app_id: int
    account: str
    permissions: dict[str, str]
    events: tuple[str, ...]
    created_at: datetime
    updated_at: datetime
    repository_ids: tuple[int, ...] | None = None
    suspended_at: datetime | None = None


class Hook(Record):
    """A repository's webhook."""

    id: int
    repo_id: int
    url: str
    secret: str | None
    events: tuple[str, ...]
    created_at: datetime
    updated_at: datetime
    active: bool = True
