"""What webhooks say: one pure function per event, from state to GitHub's payload.

https://docs.github.com/en/webhooks/webhook-events-and-payloads
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from bot.forge.git import NO_COMMIT, Commit, Move
from bot.forge.records import (
    CheckRun,
    Comment,
    Deployment,
    DeploymentStatus,
    Hook,
    Installation,
    Issue,
    Repository,
)
from bot.forge.shapes import Json
from bot.forge.shapes.apps import installation as installation_shape
from bot.forge.shapes.checks import check_run
from bot.forge.shapes.comments import comment as comment_shape
from bot.forge.shapes.deployments import deployment as deployment_shape
from bot.forge.shapes.deployments import deployment_status as status_shape
from bot.forge.shapes.hooks import hook as hook_shape
from bot.forge.shapes.issues import issue as issue_shape
from bot.forge.shapes.issues import label as label_shape
from bot.forge.shapes.pulls import minimal_pull, pull_request
from bot.forge.shapes.repositories import repository as repository_shape
from bot.forge.shapes.repositories import repository_stub
from bot.forge.shapes.users import simple_user
from bot.forge.view import View


@dataclass(frozen=True, slots=True)
class Event:
    """Something to tell hooks about. With `app_id` only that App hears of it."""

    name: str
    payload: Json
    repository: Repository | None = None
    app_id: int | None = None
    installation: Installation | None = field(default=None)

    @property
    def action(self) -> str | None:
        """The payload's `action`."""
        action: str | None = self.payload.get("action")
        return action


def pull_request_event(view: View, repo: Repository, issue: Issue, action: str, sender: str, **extra: object) -> Event:
    """`pull_request`: opened, synchronize, closed, edited, labeled, …; `extra` is what that action adds."""
    payload = {
        "action": action,
        "number": issue.number,
        "pull_request": pull_request(view, repo, issue),
        **_context(view, repo, sender),
        **extra,
    }
    return Event("pull_request", payload, repo)


def label_change(view: View, repo: Repository, name: str) -> Json:
    """What `labeled` and `unlabeled` add."""
    return {"label": label_shape(view, repo, name)}


def issue_event(view: View, repo: Repository, issue: Issue, action: str, sender: str, **extra: object) -> Event:
    """`issues`: opened, closed, …"""
    payload = {"action": action, "issue": issue_shape(view, repo, issue), **_context(view, repo, sender), **extra}
    return Event("issues", payload, repo)


def issue_comment_event(
    view: View, repo: Repository, issue: Issue, comment: Comment, *, action: str, sender: str, **extra: object
) -> Event:
    """`issue_comment`: created, edited, deleted; `issue.pull_request` tells a pull request from an issue."""
    payload = {
        "action": action,
        "issue": issue_shape(view, repo, issue),
        "comment": comment_shape(view, repo, issue, comment),
        **_context(view, repo, sender),
        **extra,
    }
    return Event("issue_comment", payload, repo)


def push_event(
    view: View, repo: Repository, move: Move, *, commits: Sequence[Commit], forced: bool, sender: str
) -> Event:
    """`push`: a branch or tag was created, moved or deleted. `commits` are the new ones, newest first."""
    listed = [_pushed_commit(view, repo, commit) for commit in reversed(commits)]
    deleted = move.after == NO_COMMIT
    payload = {
        "ref": move.ref,
        "before": move.before,
        "after": move.after,
        "created": move.before == NO_COMMIT,
        "deleted": deleted,
        "forced": forced,
        "base_ref": None,
        "compare": f"{view.urls.page(repo)}/compare/{move.before[:12]}...{move.after[:12]}",
        "commits": [] if deleted else listed,
        "head_commit": listed[-1] if listed and not deleted else None,
        "pusher": {"name": sender, "email": None},
        **_context(view, repo, sender),
    }
    return Event("push", payload, repo)


def delete_event(view: View, repo: Repository, ref: str, sender: str) -> Event:
    """`delete`: a branch or tag is gone."""
    kind = "tag" if ref.startswith("refs/tags/") else "branch"
    payload = {"ref": ref.split("/", 2)[2], "ref_type": kind, "pusher_type": "user", **_context(view, repo, sender)}
    return Event("delete", payload, repo)


def check_run_event(view: View, repo: Repository, run: CheckRun, action: str, sender: str, **extra: object) -> Event:
    """`check_run`. `rerequested` and `requested_action` go to the App that owns the run and to nobody else."""
    pulls = [i for i in view.state.issues_of(repo.id) if i.pull and i.pull.head_sha == run.head_sha]
    suite = {
        "id": run.suite_id,
        "head_sha": run.head_sha,
        "head_branch": next((issue.pull.head_ref for issue in pulls if issue.pull), None),
        "status": run.status,
        "conclusion": run.conclusion,
        "pull_requests": [minimal_pull(view, repo, issue) for issue in pulls],
    }
    shape = check_run(view, repo, run) | {"check_suite": suite}
    private = action in ("rerequested", "requested_action")
    payload = {"action": action, "check_run": shape, **_context(view, repo, sender), **extra}
    return Event("check_run", payload, repo, run.app_id if private else None)


def deployment_event(view: View, repo: Repository, row: Deployment, sender: str) -> Event:
    """`deployment` created."""
    payload = {"action": "created", "deployment": deployment_shape(view, repo, row), **_context(view, repo, sender)}
    return Event("deployment", payload, repo)


def deployment_status_event(
    view: View, repo: Repository, row: Deployment, status: DeploymentStatus, sender: str
) -> Event:
    """`deployment_status` created."""
    payload = {
        "action": "created",
        "deployment_status": status_shape(view, repo, status),
        "deployment": deployment_shape(view, repo, row),
        **_context(view, repo, sender),
    }
    return Event("deployment_status", payload, repo)


def repository_event(view: View, repo: Repository, action: str, sender: str, **extra: object) -> Event:
    """`repository`: created, renamed, deleted, archived, privatized, …"""
    return Event("repository", {"action": action, **_context(view, repo, sender), **extra}, repo)


def installation_event(view: View, row: Installation, action: str, sender: str) -> Event:
    """`installation`: created, deleted, suspend, unsuspend. Every App gets these without subscribing."""
    payload = {
        "action": action,
        "installation": installation_shape(view, row),
        "repositories": [repository_stub(repo) for repo in view.state.repositories_of(row)],
        "requester": None,
        "sender": simple_user(view, sender),
    }
    return Event("installation", payload, app_id=row.app_id, installation=row)


def installation_repositories_event(
    view: View, row: Installation, added: Sequence[Repository], removed: Sequence[Repository], sender: str
) -> Event:
    """`installation_repositories`: added or removed."""
    payload = {
        "action": "added" if added else "removed",
        "installation": installation_shape(view, row),
        "repository_selection": "all" if row.repository_ids is None else "selected",
        "repositories_added": [repository_stub(repo) for repo in added],
        "repositories_removed": [repository_stub(repo) for repo in removed],
        "requester": None,
        "sender": simple_user(view, sender),
    }
    return Event("installation_repositories", payload, app_id=row.app_id, installation=row)


def ping_payload(view: View, hook_id: int, hook: Json, repo: Repository | None, sender: str | None) -> Json:
    """`ping`: what a new hook hears first."""
    context = _context(view, repo, sender) if repo and sender else {}
    return {"zen": "Keep it logically awesome.", "hook_id": hook_id, "hook": hook, **context}


def repository_ping(view: View, repo: Repository, row: Hook, sender: str) -> Json:
    """The `ping` of a repository's hook."""
    return ping_payload(view, row.id, hook_shape(view, repo, row), repo, sender)


def changed_from(**before: object) -> Mapping[str, object]:
    """The `changes` of an `edited` event: the old value of each field."""
    return {"changes": {name: {"from": value} for name, value in before.items()}}


def _context(view: View, repo: Repository, sender: str) -> Json:
    return {"repository": repository_shape(view, repo), "sender": simple_user(view, sender)}


def _pushed_commit(view: View, repo: Repository, commit: Commit) -> Json:
    person = {"name": commit.author_name, "email": commit.author_email}
    return {
        "id": commit.sha,
        "tree_id": commit.tree,
        "distinct": True,
        "message": commit.message,
        "timestamp": commit.date,
        "url": f"{view.urls.page(repo)}/commit/{commit.sha}",
        "author": person,
        "committer": person,
        "added": [],
        "removed": [],
        "modified": [],
    }
