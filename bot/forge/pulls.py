"""What happens to pull requests and issues: opened, pushed to, edited, closed, merged, labelled, locked."""

from bot.forge.forge import Forge
from bot.forge.git import GitFailed
from bot.forge.payloads import changed_from, issue_event, label_change, pull_request_event
from bot.forge.records import Issue, Pull, Repository
from bot.forge.shapes.pulls import pull_of
from bot.forge.state import now


class NothingToMerge(Exception):
    """The head adds no commit to the base, or the two have no common history."""


async def open_pull(
    forge: Forge,
    repository: Repository,
    head_repo: Repository,
    *,
    head: str,
    base: str,
    title: str,
    author: str,
    body: str | None = None,
    draft: bool = False,
) -> Issue:
    """A new pull request. Raises NothingToMerge, also when one of the branches does not exist."""
    async with forge.git.lock(repository.id):
        head_sha = await _tip(forge, head_repo, head)
        base_sha = await _tip(forge, repository, base)
        number = forge.state.next_number(repository.id)
        await forge.git.bring(head_repo.id, repository.id, head_sha, f"refs/pull/{number}/head")
        pull = Pull(
            id=forge.state.new_id(),
            head_repo_id=head_repo.id,
            head_owner=head_repo.owner,
            head_ref=head,
            head_sha=head_sha,
            base_ref=base,
            base_sha=base_sha,
            draft=draft,
            **await _measure(forge, repository, base_sha, head_sha),
        )
        if pull.commits == 0:
            raise NothingToMerge(f"No commits between {base} and {head}")
        return _told(
            forge,
            repository,
            _new(forge, repository, title=title, body=body, author=author, pull=pull),
            "opened",
            author,
        )


async def synchronize(forge: Forge, repository: Repository, issue: Issue, head_repo: Repository, sender: str) -> None:
    """The head branch was pushed to: take its new tip."""
    before, sha = pull_of(issue).head_sha, await _tip(forge, head_repo, pull_of(issue).head_ref)
    await forge.git.bring(head_repo.id, repository.id, sha, f"refs/pull/{issue.number}/head")
    base_sha = await _tip(forge, repository, pull_of(issue).base_ref)
    numbers = await _measure(forge, repository, base_sha, sha)
    moved = _with_pull(forge, issue, head_sha=sha, base_sha=base_sha, **numbers)
    _told(forge, repository, moved, "synchronize", sender, before=before, after=sha)


def edit(forge: Forge, repository: Repository, issue: Issue, sender: str, **wanted: str | None) -> Issue:
    """A new title or body."""
    before = {name: getattr(issue, name) for name, value in wanted.items() if getattr(issue, name) != value}
    if not before:
        return issue
    edited = issue.model_copy(update={**wanted, "updated_at": now()})
    return _told(forge, repository, edited, "edited", sender, **changed_from(**before))


async def retarget(forge: Forge, repository: Repository, issue: Issue, base: str, sender: str) -> Issue:
    """Another base branch; GitHub calls this `edited` as well. Raises NothingToMerge when there is no such branch."""
    old = pull_of(issue)
    if base == old.base_ref:
        return issue
    base_sha = await _tip(forge, repository, base)
    numbers = await _measure(forge, repository, base_sha, old.head_sha)
    moved = _with_pull(forge, issue, base_ref=base, base_sha=base_sha, **numbers)
    changes = {"base": {"ref": {"from": old.base_ref}, "sha": {"from": old.base_sha}}}
    return _told(forge, repository, moved, "edited", sender, changes=changes)


def close(forge: Forge, repository: Repository, issue: Issue, sender: str) -> Issue:
    """Close without merging. Closing what is closed changes nothing."""
    if issue.state == "closed":
        return issue
    moment = now()
    closed = issue.model_copy(update={"state": "closed", "closed_at": moment, "updated_at": moment})
    return _told(forge, repository, closed, "closed", sender)


async def reopen(forge: Forge, repository: Repository, issue: Issue, sender: str) -> Issue:
    """Open again, at the commit where the head branch stands now. Reopening what is open changes nothing."""
    if issue.state == "open":
        return issue
    head_repo = forge.state.repositories.get(issue.pull.head_repo_id) if issue.pull else None
    if issue.pull and head_repo:
        sha = await forge.git.resolve(head_repo.id, issue.pull.head_ref) or issue.pull.head_sha
        await forge.git.bring(head_repo.id, repository.id, sha, f"refs/pull/{issue.number}/head")
        numbers = await _measure(forge, repository, issue.pull.base_sha, sha)
        issue = _with_pull(forge, issue, head_sha=sha, **numbers)
    opened = issue.model_copy(update={"state": "open", "closed_at": None, "updated_at": now()})
    return _told(forge, repository, opened, "reopened", sender)


async def merge(forge: Forge, repository: Repository, issue: Issue, sender: str) -> Issue:
    """Merge with a merge commit and close. Raises GitFailed on a conflict."""
    pull = pull_of(issue)
    message = f"Merge pull request #{issue.number} from {pull.head_owner}/{pull.head_ref}\n\n{issue.title}"
    base_sha = await _tip(forge, repository, pull.base_ref)
    sha = await forge.git.merge(repository.id, base_sha, pull.head_sha, pull.base_ref, message)
    moment = now()
    merged = _with_pull(forge, issue, merged_at=moment, merged_by=sender, merge_commit_sha=sha)
    closed = merged.model_copy(update={"state": "closed", "closed_at": moment})
    return _told(forge, repository, closed, "closed", sender)


def set_draft(forge: Forge, repository: Repository, issue: Issue, draft: bool, sender: str) -> Issue:
    """Convert to a draft, or mark ready for review."""
    if pull_of(issue).draft == draft:
        return issue
    changed = _with_pull(forge, issue, draft=draft)
    return _told(forge, repository, changed, "converted_to_draft" if draft else "ready_for_review", sender)


def set_labels(forge: Forge, repository: Repository, issue: Issue, labels: tuple[str, ...], sender: str) -> Issue:
    """Replace the labels; one event for each that comes or goes."""
    for name in [name for name in issue.labels if name not in labels]:
        rest = tuple(other for other in issue.labels if other != name)
        issue = issue.model_copy(update={"labels": rest, "updated_at": now()})
        _told(forge, repository, issue, "unlabeled", sender, **label_change(forge.view, repository, name))
    for name in [name for name in labels if name not in issue.labels]:
        issue = issue.model_copy(update={"labels": (*issue.labels, name), "updated_at": now()})
        _told(forge, repository, issue, "labeled", sender, **label_change(forge.view, repository, name))
    return issue


def set_lock(
    forge: Forge, repository: Repository, issue: Issue, sender: str, *, locked: bool, reason: str | None = None
) -> Issue:
    """Lock or unlock the conversation."""
    if issue.locked == locked:
        return issue
    changed = issue.model_copy(update={"locked": locked, "lock_reason": reason if locked else None})
    return _told(forge, repository, changed, "locked" if locked else "unlocked", sender)


def open_issue(forge: Forge, repository: Repository, title: str, body: str | None, author: str) -> Issue:
    """A new plain issue."""
    return _told(forge, repository, _new(forge, repository, title=title, body=body, author=author), "opened", author)


def _new(
    forge: Forge, repository: Repository, *, title: str, body: str | None, author: str, pull: Pull | None = None
) -> Issue:
    moment = now()
    return Issue(
        id=forge.state.new_id(),
        repo_id=repository.id,
        number=forge.state.next_number(repository.id),
        title=title,
        body=body,
        author=author,
        created_at=moment,
        updated_at=moment,
        pull=pull,
    )


def _told(forge: Forge, repository: Repository, issue: Issue, action: str, sender: str, **extra: object) -> Issue:
    """Keep the new value and tell the hooks of it."""
    forge.state.issues[issue.id] = issue
    event = pull_request_event if issue.pull else issue_event
    forge.announce(event(forge.view, repository, issue, action, sender, **extra))
    return issue


def _with_pull(forge: Forge, issue: Issue, **changes: object) -> Issue:
    """The issue as it is now (git took its time since it was read), with changes to its pull request."""
    current = forge.state.issues[issue.id]
    return current.model_copy(update={"pull": pull_of(current).model_copy(update=changes), "updated_at": now()})


async def _tip(forge: Forge, repository: Repository, branch: str) -> str:
    sha = await forge.git.resolve(repository.id, f"refs/heads/{branch}")
    if sha is None:
        raise NothingToMerge(f"{repository.full_name} has no branch {branch}")
    return sha


async def _measure(forge: Forge, repository: Repository, base_sha: str, head_sha: str) -> dict[str, int]:
    """How many commits, files and lines the head adds."""
    try:
        difference = await forge.git.difference(repository.id, base_sha, head_sha)
    except GitFailed as unrelated:
        raise NothingToMerge(f"{base_sha} and {head_sha} have no common history") from unrelated
    return {
        "commits": difference.commits,
        "changed_files": len(difference.files),
        "additions": difference.additions,
        "deletions": difference.deletions,
    }
