"""What can happen on GitHub, as a union of frozen values. A delivery is a wake-up, not the truth."""

from dataclasses import dataclass
from enum import StrEnum

from bot.preview import CommitSha, RepoId, RepoName


@dataclass(frozen=True, slots=True)
class Origin:
    """Where an event comes from. `installation_id` is None for hooks that belong to no App."""

    repo_id: RepoId
    repo_name: RepoName
    installation_id: int | None


class Change(StrEnum):
    """What happened to a pull request: GitHub's `action`, as far as it matters here."""

    OPENED = "opened"
    SYNCHRONIZE = "synchronize"
    REOPENED = "reopened"
    CLOSED = "closed"
    RETARGETED = "edited"
    DRAFTED = "converted_to_draft"
    READY_FOR_REVIEW = "ready_for_review"
    LABELED = "labeled"
    UNLABELED = "unlabeled"
    LOCKED = "locked"
    UNLOCKED = "unlocked"


@dataclass(frozen=True, slots=True)
class PullRequestChanged:
    """A pull request was opened, pushed to, closed, retargeted, labelled, …"""

    origin: Origin
    number: int
    change: Change
    head_sha: CommitSha


@dataclass(frozen=True, slots=True)
class CommentCreated:
    """Somebody wrote a comment on a pull request (never on a plain issue)."""

    origin: Origin
    number: int
    comment_id: int
    author: str
    author_is_bot: bool
    body: str


@dataclass(frozen=True, slots=True)
class CheckRequested:
    """Somebody pressed *Re-run* (`action` "rerequested") or one of our buttons on a check run."""

    origin: Origin
    check_run_id: int | None
    head_sha: CommitSha
    action: str
    sender: str


@dataclass(frozen=True, slots=True)
class RepositoryChanged:
    """A repository was renamed, transferred, deleted, archived, …: `action` is GitHub's word."""

    origin: Origin
    action: str


@dataclass(frozen=True, slots=True)
class InstallationChanged:
    """The App was installed, suspended, removed, …, or repositories were added to or taken from it."""

    installation_id: int
    action: str
    added: tuple[RepoId, ...] = ()
    removed: tuple[RepoId, ...] = ()


@dataclass(frozen=True, slots=True)
class Ignored:
    """A delivery that means nothing to us; `reason` is one sentence for the operator's log."""

    reason: str


Event = PullRequestChanged | CommentCreated | CheckRequested | RepositoryChanged | InstallationChanged | Ignored
