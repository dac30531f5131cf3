"""Issues and their labels as GitHub shows them."""

import zlib

from bot.forge.records import Issue, Repository
from bot.forge.shapes import Json, node_id, stamp, stamp_or_none
from bot.forge.shapes.users import association, simple_user
from bot.forge.view import View

REACTIONS = ("+1", "-1", "laugh", "confused", "heart", "hooray", "rocket", "eyes")


def label(view: View, repo: Repository, name: str) -> Json:
    """A label. Labels are only names here, so the id is drawn from the name."""
    number = zlib.crc32(name.encode())
    return {
        "id": number,
        "node_id": node_id("Label", number),
        "url": f"{view.urls.repository(repo)}/labels/{name}",
        "name": name,
        "color": "ededed",
        "default": False,
        "description": "",
    }


def reaction_rollup(url: str, contents: list[str]) -> Json:
    """How many reactions of each kind."""
    counts = {kind: contents.count(kind) for kind in REACTIONS}
    return {"url": f"{url}/reactions", "total_count": len(contents), **counts}


def issue(view: View, repo: Repository, row: Issue) -> Json:
    """An issue; a pull request seen as an issue carries `pull_request`."""
    url = f"{view.urls.repository(repo)}/issues/{row.number}"
    return {
        "id": row.id,
        "node_id": node_id("Issue", row.id),
        "url": url,
        "repository_url": view.urls.repository(repo),
        "labels_url": f"{url}/labels{{/name}}",
        "comments_url": f"{url}/comments",
        "events_url": f"{url}/events",
        "html_url": view.urls.issue_page(repo, row),
        **issue_head(view, repo, row),
        "comments": len(view.state.comments_on(row)),
        "reactions": reaction_rollup(url, []),
        **({"pull_request": _pull_links(view, repo, row), "draft": row.pull.draft} if row.pull else {}),
    }


def issue_head(view: View, repo: Repository, row: Issue) -> Json:
    """The fields that issues and pull requests share."""
    return {
        "number": row.number,
        "state": row.state,
        "locked": row.locked,
        "active_lock_reason": row.lock_reason,
        "title": row.title,
        "body": row.body,
        "user": simple_user(view, row.author),
        "labels": [label(view, repo, name) for name in row.labels],
        "assignee": None,
        "assignees": [],
        "milestone": None,
        "author_association": association(view.state, row.author, repo),
        "created_at": stamp(row.created_at),
        "updated_at": stamp(row.updated_at),
        "closed_at": stamp_or_none(row.closed_at),
    }


def _pull_links(view: View, repo: Repository, row: Issue) -> Json:
    page = view.urls.issue_page(repo, row)
    return {
        "url": f"{view.urls.repository(repo)}/pulls/{row.number}",
        "html_url": page,
        "diff_url": f"{page}.diff",
        "patch_url": f"{page}.patch",
        "merged_at": stamp_or_none(row.pull.merged_at) if row.pull else None,
    }
