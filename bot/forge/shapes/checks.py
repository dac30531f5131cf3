"""Check runs and commit statuses as GitHub shows them."""

from bot.forge.records import CheckRun, CommitStatus, Repository
from bot.forge.shapes import Json, node_id, stamp, stamp_or_none
from bot.forge.shapes.apps import app as app_shape
from bot.forge.shapes.pulls import minimal_pull
from bot.forge.shapes.users import simple_user
from bot.forge.view import View


def check_run(view: View, repo: Repository, row: CheckRun) -> Json:
    """A check run, with the pull requests whose head it checks; its details are by default the App's homepage."""
    app = app_shape(view, view.state.apps[row.app_id])
    url = f"{view.urls.repository(repo)}/check-runs/{row.id}"
    pulls = [
        i for i in view.state.issues_of(repo.id) if i.pull and i.state == "open" and i.pull.head_sha == row.head_sha
    ]
    own = [issue for issue in pulls if issue.pull and issue.pull.head_repo_id == repo.id]
    return {
        "id": row.id,
        "node_id": node_id("CheckRun", row.id),
        "name": row.name,
        "head_sha": row.head_sha,
        "external_id": row.external_id,
        "url": url,
        "html_url": f"{view.urls.page(repo)}/runs/{row.id}",
        "details_url": row.details_url or app["external_url"],
        "status": row.status,
        "conclusion": row.conclusion,
        "started_at": stamp_or_none(row.started_at),
        "completed_at": stamp_or_none(row.completed_at),
        "output": {
            "title": row.title,
            "summary": row.summary,
            "text": row.text,
            "annotations_count": row.annotations_count,
            "annotations_url": f"{url}/annotations",
        },
        "check_suite": {"id": row.suite_id},
        "app": app,
        "pull_requests": [minimal_pull(view, repo, issue) for issue in own],
    }


def commit_status(view: View, repo: Repository, row: CommitStatus) -> Json:
    """One context's verdict on a commit."""
    creator = simple_user(view, row.creator)
    return {
        "id": row.id,
        "node_id": node_id("StatusContext", row.id),
        "url": f"{view.urls.repository(repo)}/statuses/{row.sha}",
        "avatar_url": creator["avatar_url"],
        "state": row.state,
        "description": row.description,
        "target_url": row.target_url,
        "context": row.context,
        "created_at": stamp(row.created_at),
        "updated_at": stamp(row.created_at),
        "creator": creator,
    }
