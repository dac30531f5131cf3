"""Pull requests as GitHub shows them."""

from bot.forge.records import Issue, Pull, Repository
from bot.forge.shapes import Json, node_id, stamp_or_none
from bot.forge.shapes.issues import issue_head
from bot.forge.shapes.repositories import repository
from bot.forge.shapes.users import simple_user
from bot.forge.view import View


def pull_of(issue: Issue) -> Pull:
    """What makes this issue a pull request. Raises ValueError when it is a plain issue."""
    if issue.pull is None:
        raise ValueError(f"#{issue.number} is an issue, not a pull request")
    return issue.pull


def simple_pull(view: View, repo: Repository, issue: Issue) -> Json:
    """A pull request as lists show it."""
    pull = pull_of(issue)
    page = view.urls.issue_page(repo, issue)
    links = _links(view, repo, issue)
    return {
        "id": pull.id,
        "node_id": node_id("PullRequest", pull.id),
        "url": links["self"],
        "html_url": page,
        "diff_url": f"{page}.diff",
        "patch_url": f"{page}.patch",
        **{f"{name}_url": links[name] for name in links if name not in ("self", "html")},
        **issue_head(view, repo, issue),
        "requested_reviewers": [],
        "requested_teams": [],
        "draft": pull.draft,
        "merged_at": stamp_or_none(pull.merged_at),
        "merge_commit_sha": pull.merge_commit_sha,
        "auto_merge": None,
        "head": _end(
            view, view.state.repositories.get(pull.head_repo_id), pull.head_owner, pull.head_ref, pull.head_sha
        ),
        "base": _end(view, repo, repo.owner, pull.base_ref, pull.base_sha),
        "_links": {name: {"href": url} for name, url in links.items()},
    }


def pull_request(view: View, repo: Repository, issue: Issue) -> Json:
    """A pull request in full."""
    pull = pull_of(issue)
    return {
        **simple_pull(view, repo, issue),
        "merged": pull.merged_at is not None,
        "mergeable": None if issue.state == "closed" else True,
        "rebaseable": None if issue.state == "closed" else True,
        "mergeable_state": "unknown" if issue.state == "closed" else "draft" if pull.draft else "clean",
        "merged_by": simple_user(view, pull.merged_by) if pull.merged_by else None,
        "maintainer_can_modify": False,
        "comments": len(view.state.comments_on(issue)),
        "review_comments": 0,
        "commits": pull.commits,
        "additions": pull.additions,
        "deletions": pull.deletions,
        "changed_files": pull.changed_files,
    }


def minimal_pull(view: View, repo: Repository, issue: Issue) -> Json:
    """A pull request as check runs name it."""
    pull = pull_of(issue)
    head_repo = view.state.repositories.get(pull.head_repo_id, repo)

    def end(side: Repository, ref: str, sha: str) -> Json:
        named = {"id": side.id, "url": view.urls.repository(side), "name": side.name}
        return {"ref": ref, "sha": sha, "repo": named}

    return {
        "id": pull.id,
        "number": issue.number,
        "url": f"{view.urls.repository(repo)}/pulls/{issue.number}",
        "head": end(head_repo, pull.head_ref, pull.head_sha),
        "base": end(repo, pull.base_ref, pull.base_sha),
    }


def _end(view: View, repo: Repository | None, owner: str, ref: str, sha: str) -> Json:
    """One end. The head's `repo` is null once the fork is deleted, which the API's description does not say."""
    return {
        "label": f"{owner}:{ref}",
        "ref": ref,
        "sha": sha,
        "user": simple_user(view, owner),
        "repo": repository(view, repo) if repo else None,
    }


def _links(view: View, repo: Repository, issue: Issue) -> dict[str, str]:
    url = view.urls.repository(repo)
    pull_url = f"{url}/pulls/{issue.number}"
    return {
        "self": pull_url,
        "html": view.urls.issue_page(repo, issue),
        "issue": f"{url}/issues/{issue.number}",
        "comments": f"{url}/issues/{issue.number}/comments",
        "review_comments": f"{pull_url}/comments",
        "review_comment": f"{url}/pulls/comments{{/number}}",
        "commits": f"{pull_url}/commits",
        "statuses": f"{url}/statuses/{pull_of(issue).head_sha}",
    }
