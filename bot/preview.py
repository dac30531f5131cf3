"""The nouns: repository, commit, pull request, preview, launch; and which phase may follow which."""

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, NewType

RepoId = NewType("RepoId", int)
"""GitHub's numeric repository id: it survives renames and transfers, a name does not."""

RepoName = NewType("RepoName", str)
"""`owner/name`, as GitHub spells it today."""

CommitSha = NewType("CommitSha", str)
"""Forty lower-case hexadecimal digits."""


@dataclass(frozen=True, slots=True)
class Repository:
    """A repository as the bot reaches it. `installation_id` is None when a plain token is used."""

    id: RepoId
    name: RepoName
    clone_url: str
    private: bool
    installation_id: int | None = None


@dataclass(frozen=True, slots=True)
class PullRequest:
    """A pull request, read afresh from GitHub. `head_repo_id` is None when the fork was deleted."""

    repository: Repository
    number: int
    title: str
    open: bool
    draft: bool
    locked: bool
    author: str
    author_is_bot: bool
    head_sha: CommitSha
    head_ref: str
    head_repo_id: RepoId | None
    base_ref: str
    labels: frozenset[str] = frozenset()

    @property
    def from_fork(self) -> bool:
        """Whether the head lives in another repository (a deleted one counts as another)."""
        return self.head_repo_id != self.repository.id


class Phase(StrEnum):
    """Where a launch stands. `NEXT` below and the diagram in the README are compared by a test."""

    AWAITING_APPROVAL = "awaiting_approval"
    QUEUED = "queued"
    FETCHING = "fetching"
    DETECTING = "detecting"
    INSTALLING = "installing"
    BUILDING = "building"
    STARTING = "starting"
    READY = "ready"
    ASLEEP = "asleep"
    WAKING = "waking"
    FAILED = "failed"
    SUPERSEDED = "superseded"
    STOPPED = "stopped"

    @property
    def ended(self) -> bool:
        """Whether nothing can follow."""
        return not NEXT[self]


_ENDS = frozenset({Phase.FAILED, Phase.SUPERSEDED, Phase.STOPPED})

NEXT: dict[Phase, frozenset[Phase]] = {
    Phase.AWAITING_APPROVAL: frozenset({Phase.QUEUED, Phase.SUPERSEDED, Phase.STOPPED}),
    Phase.QUEUED: frozenset({Phase.FETCHING}) | _ENDS,
    Phase.FETCHING: frozenset({Phase.DETECTING}) | _ENDS,
    Phase.DETECTING: frozenset({Phase.INSTALLING, Phase.BUILDING, Phase.STARTING}) | _ENDS,
    Phase.INSTALLING: frozenset({Phase.BUILDING, Phase.STARTING}) | _ENDS,
    Phase.BUILDING: frozenset({Phase.STARTING}) | _ENDS,
    Phase.STARTING: frozenset({Phase.READY}) | _ENDS,
    Phase.READY: frozenset({Phase.ASLEEP}) | _ENDS,
    Phase.ASLEEP: frozenset({Phase.WAKING}) | _ENDS,
    Phase.WAKING: frozenset({Phase.READY}) | _ENDS,
    Phase.FAILED: frozenset(),
    Phase.SUPERSEDED: frozenset(),
    Phase.STOPPED: frozenset(),
}
"""Which phase may follow which."""


class StopReason(StrEnum):
    """Why a preview was taken down."""

    CLOSED = "closed"
    COMMAND = "command"
    OPERATOR = "operator"
    EXPIRED = "expired"
    REPOSITORY_GONE = "repository_gone"


@dataclass(frozen=True, slots=True)
class Failure:
    """Why a launch failed: the phase it was in, one sentence of cause, one of remedy, the masked tail of the log."""

    phase: Phase
    cause: str
    remedy: str = ""
    log: str = ""


@dataclass(frozen=True, slots=True)
class Box:
    """What stands in a preview's sandbox, as far as it is known for certain.

    `sha` is checked out. `install_key` names the manifests that were last installed completely, `start_key` the
    configuration that the running `server` (a process id of the Sandbox API) was started with.
    """

    sha: CommitSha
    install_key: str | None = None
    start_key: str | None = None
    server: str | None = None
    url: str | None = None


@dataclass(frozen=True, slots=True)
class Launch:
    """One attempt to bring up one commit. `generation` counts up per preview; times are seconds since the epoch."""

    preview_id: int
    generation: int
    sha: CommitSha
    phase: Phase
    requested_at: float
    phase_since: float
    ready_at: float | None = None
    url: str | None = None
    in_place: bool = False
    plan: dict[str, Any] | None = None
    """A `bot.plan.LaunchPlan` as JSON, once detected."""
    notes: tuple[str, ...] = ()
    timings: dict[str, float] = field(default_factory=dict)
    """Seconds spent in each phase that is over."""
    failure: Failure | None = None
    stop_reason: StopReason | None = None

    @property
    def seconds_to_ready(self) -> float | None:
        """Seconds from the push, as it reached us, to an answering URL."""
        return self.ready_at - self.requested_at if self.ready_at else None


@dataclass(frozen=True, slots=True)
class Preview:
    """The live copy of one pull request: one per (repository id, number). It owns the comment and the sandbox.

    `generation` counts every decision (launch or stop); a run that holds an older one has been superseded.
    `wanted`: whether it should run. `held`: stopped by a person, and left so until a person says otherwise.
    `version` counts changes worth telling; `reported_version` is the last one that GitHub shows.
    """

    id: int
    repository: Repository
    number: int
    sandbox_name: str
    generation: int = 0
    wanted: bool = False
    held: bool = False
    stop_reason: StopReason | None = None
    approved_sha: CommitSha | None = None
    comment_id: int | None = None
    version: int = 0
    reported_version: int = 0
    box: Box | None = None
    launch: Launch | None = None
