"""GitHub's webhook JSON -> `bot.events`: only the fields that we use, and leniently.

A payload of an event and action that we act on, without what that event must have, is refused as `PayloadInvalid` and
not ignored: the 400 shows in GitHub's list of deliveries, from where it can be delivered again once the cause is known.
Anything else that is well-formed is `Ignored`: new events and actions appear at any time.
"""

from typing import Annotated, Any, ClassVar, Final

import msgspec
from msgspec import Meta, Struct

from bot.events import (
    Change,
    CheckRequested,
    CommentCreated,
    Event,
    Ignored,
    InstallationChanged,
    Origin,
    PullRequestChanged,
    RepositoryChanged,
)
from bot.preview import CommitSha, RepoId, RepoName
from webhooks.refusals import PayloadInvalid

GHOST: Final = "ghost"
"""Whom GitHub shows in place of an account that was deleted. https://github.com/ghost"""

Id = Annotated[int, Meta(ge=1)]
Sha = Annotated[str, Meta(pattern=r"\A[0-9a-f]{40}\Z")]
FullName = Annotated[str, Meta(pattern=r"\A[A-Za-z0-9._-]+/[A-Za-z0-9._-]+\Z")]


class _Payload(Struct, frozen=True, gc=False):
    """Every payload; unknown fields are skipped. `action` is absent from a few events."""

    acted_on: ClassVar[frozenset[str]] = frozenset()
    action: str = ""


class _HasId(Struct, frozen=True, gc=False):
    id: Id


class _Account(Struct, frozen=True, gc=False):
    login: str
    type: str = "User"


class _Repository(Struct, frozen=True, gc=False):
    id: Id
    full_name: FullName


class _InRepository(_Payload, frozen=True, gc=False, kw_only=True):
    repository: _Repository
    installation: _HasId | None = None
    sender: _Account | None = None

    @property
    def origin(self) -> Origin:
        return Origin(
            RepoId(self.repository.id),
            RepoName(self.repository.full_name),
            self.installation.id if self.installation else None,
        )

    @property
    def sender_login(self) -> str:
        return self.sender.login if self.sender else GHOST


class _Head(Struct, frozen=True, gc=False):
    """`repo` is left out on purpose: it is null once a fork is deleted, and who forked is read afresh anyway."""

    sha: Sha


class _PullRequest(Struct, frozen=True, gc=False):
    head: _Head


class _BaseChange(Struct, frozen=True, gc=False):
    base: Any = None


class _PullRequestPayload(_InRepository, frozen=True, gc=False, kw_only=True):
    acted_on = frozenset(Change)
    number: Id
    pull_request: _PullRequest
    changes: _BaseChange | None = None

    def event(self) -> Event:
        # GitHub also says "edited" for titles and texts; only another base asks for a new decision.
        if self.action == Change.RETARGETED and (self.changes is None or self.changes.base is None):
            return Ignored("pull_request edited: the base branch is the same")
        sha = CommitSha(self.pull_request.head.sha)
        return PullRequestChanged(self.origin, self.number, Change(self.action), sha)


class _Issue(Struct, frozen=True, gc=False):
    number: Id
    pull_request: Any = None


class _Comment(Struct, frozen=True, gc=False):
    id: Id
    user: _Account | None = None
    body: str | None = None


class _IssueCommentPayload(_InRepository, frozen=True, gc=False, kw_only=True):
    acted_on = frozenset({"created"})
    issue: _Issue
    comment: _Comment

    def event(self) -> Event:
        # An issue is a pull request exactly when it has this key.
        # https://docs.github.com/en/rest/issues/issues#get-an-issue
        if self.issue.pull_request is None:
            return Ignored("issue_comment: on an issue, not on a pull request")
        return CommentCreated(
            self.origin,
            self.issue.number,
            self.comment.id,
            self.comment.user.login if self.comment.user else GHOST,
            any(account is not None and account.type == "Bot" for account in (self.comment.user, self.sender)),
            self.comment.body or "",
        )


class _CheckRun(Struct, frozen=True, gc=False):
    id: Id
    head_sha: Sha


class _RequestedAction(Struct, frozen=True, gc=False):
    identifier: str


class _CheckRunPayload(_InRepository, frozen=True, gc=False, kw_only=True):
    acted_on = frozenset({"rerequested", "requested_action"})
    check_run: _CheckRun
    requested_action: _RequestedAction | None = None

    def event(self) -> Event:
        action = self.action
        if action == "requested_action":
            if self.requested_action is None:
                raise PayloadInvalid("check_run requested_action: the button that was pressed is missing")
            action = self.requested_action.identifier
        sha = CommitSha(self.check_run.head_sha)
        return CheckRequested(self.origin, self.check_run.id, sha, action, self.sender_login)


class _CheckSuite(Struct, frozen=True, gc=False):
    head_sha: Sha


class _CheckSuitePayload(_InRepository, frozen=True, gc=False, kw_only=True):
    acted_on = frozenset({"rerequested"})
    check_suite: _CheckSuite

    def event(self) -> Event:
        sha = CommitSha(self.check_suite.head_sha)
        return CheckRequested(self.origin, None, sha, self.action, self.sender_login)


class _RepositoryPayload(_InRepository, frozen=True, gc=False, kw_only=True):
    acted_on = frozenset({"renamed", "transferred", "deleted", "archived", "unarchived", "privatized", "publicized"})

    def event(self) -> Event:
        return RepositoryChanged(self.origin, self.action)


class _InstallationPayload(_Payload, frozen=True, gc=False, kw_only=True):
    acted_on = frozenset({"created", "deleted", "suspend", "unsuspend", "new_permissions_accepted"})
    installation: _HasId
    repositories: list[_HasId] | None = None

    def event(self) -> Event:
        added = self.repositories if self.action == "created" else None
        return InstallationChanged(self.installation.id, self.action, added=_ids(added))


class _InstallationRepositoriesPayload(_Payload, frozen=True, gc=False, kw_only=True):
    acted_on = frozenset({"added", "removed"})
    installation: _HasId
    repositories_added: list[_HasId] | None = None
    repositories_removed: list[_HasId] | None = None

    def event(self) -> Event:
        return InstallationChanged(
            self.installation.id, self.action, _ids(self.repositories_added), _ids(self.repositories_removed)
        )


class _InstallationTargetPayload(_Payload, frozen=True, gc=False, kw_only=True):
    """The account that holds the installation was renamed, and with it every repository's name."""

    acted_on = frozenset({"renamed"})
    installation: _HasId

    def event(self) -> Event:
        return InstallationChanged(self.installation.id, self.action)


_Acted = (
    _PullRequestPayload
    | _IssueCommentPayload
    | _CheckRunPayload
    | _CheckSuitePayload
    | _RepositoryPayload
    | _InstallationPayload
    | _InstallationRepositoriesPayload
    | _InstallationTargetPayload
)
_PAYLOADS: dict[str, type[_Acted]] = {
    "pull_request": _PullRequestPayload,
    "issue_comment": _IssueCommentPayload,
    "check_run": _CheckRunPayload,
    "check_suite": _CheckSuitePayload,
    "repository": _RepositoryPayload,
    "installation": _InstallationPayload,
    "installation_repositories": _InstallationRepositoriesPayload,
    "installation_target": _InstallationTargetPayload,
}


class _Anything(Struct, frozen=True, gc=False):
    action: Any = None


_DECODERS = {name: msgspec.json.Decoder(payload) for name, payload in _PAYLOADS.items()}
_ANY = msgspec.json.Decoder(_Anything)


def decode(event_name: str, body: bytes) -> Event:
    """What a payload means. Raises PayloadInvalid, with a reason that names fields and types and never a value."""
    decoder = _DECODERS.get(event_name)
    if decoder is None:
        return _ignored(event_name, _action(body))
    try:
        payload = decoder.decode(body)
    except (msgspec.DecodeError, RecursionError) as wrong:
        action = _action(body)
        if action in _PAYLOADS[event_name].acted_on:
            raise PayloadInvalid(f"{event_name} {action}: {wrong}") from wrong
        return _ignored(event_name, action)
    return payload.event() if payload.action in payload.acted_on else _ignored(event_name, payload.action)


def _action(body: bytes) -> str:
    """The action of a JSON object of any shape, "" without one. Raises PayloadInvalid for anything else."""
    try:
        action = _ANY.decode(body).action
    except msgspec.ValidationError as wrong:
        raise PayloadInvalid(f"the body is JSON, but not an object: {wrong}") from wrong
    except (msgspec.DecodeError, RecursionError) as wrong:
        raise PayloadInvalid(f"the body is not JSON: {wrong}") from wrong
    return action if isinstance(action, str) else ""


def _ignored(event_name: str, action: str) -> Ignored:
    return Ignored(f"{event_name} {action}".rstrip() + ": nothing to do")


def _ids(repositories: list[_HasId] | None) -> tuple[RepoId, ...]:
    return tuple(RepoId(repository.id) for repository in repositories or ())
