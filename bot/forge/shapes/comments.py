"""Comments and reactions as GitHub shows them."""

from bot.forge.records import Comment, Issue, Reaction, Repository
from bot.forge.shapes import Json, node_id, stamp
from bot.forge.shapes.apps import app_or_none
from bot.forge.shapes.issues import reaction_rollup
from bot.forge.shapes.users import association, simple_user
from bot.forge.view import View


def comment(view: View, repo: Repository, issue: Issue, row: Comment) -> Json:
    """A comment on an issue or a pull request."""
    url = f"{view.urls.repository(repo)}/issues/comments/{row.id}"
    return {
        "id": row.id,
        "node_id": node_id("IssueComment", row.id),
        "url": url,
        "html_url": f"{view.urls.issue_page(repo, issue)}#issuecomment-{row.id}",
        "issue_url": f"{view.urls.repository(repo)}/issues/{row.number}",
        "user": simple_user(view, row.author),
        "created_at": stamp(row.created_at),
        "updated_at": stamp(row.updated_at),
        "author_association": association(view.state, row.author, repo),
        "body": row.body,
        "reactions": reaction_rollup(url, [reaction.content for reaction in view.state.reactions_to(row.id)]),
        "performed_via_github_app": app_or_none(view, row.app_id),
    }


def reaction(view: View, row: Reaction) -> Json:
    """One reaction."""
    return {
        "id": row.id,
        "node_id": node_id("Reaction", row.id),
        "user": simple_user(view, row.author),
        "content": row.content,
        "created_at": stamp(row.created_at),
    }
