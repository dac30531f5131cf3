"""What happens to comments: written, edited, deleted. Each tells the hooks."""

from bot.forge.forge import Forge
from bot.forge.payloads import changed_from, issue_comment_event
from bot.forge.records import Comment, Issue, Repository
from bot.forge.state import now


def add_comment(
    forge: Forge, repository: Repository, issue: Issue, author: str, body: str, *, app_id: int | None = None
) -> Comment:
    """A new comment on an issue or pull request."""
    moment = now()
    comment = Comment(
        id=forge.state.new_id(),
        repo_id=repository.id,
        number=issue.number,
        author=author,
        body=body,
        created_at=moment,
        updated_at=moment,
        app_id=app_id,
    )
    forge.state.comments[comment.id] = comment
    forge.state.issues[issue.id] = issue = issue.model_copy(update={"updated_at": moment})
    forge.announce(issue_comment_event(forge.view, repository, issue, comment, action="created", sender=author))
    return comment


def edit_comment(forge: Forge, repository: Repository, comment: Comment, sender: str, body: str) -> Comment:
    """A comment's new text. The same text again changes nothing, and nobody is told."""
    if body == comment.body:
        return comment
    edited = comment.model_copy(update={"body": body, "updated_at": now(), "edited": True})
    forge.state.comments[comment.id] = edited
    changes = changed_from(body=comment.body)
    issue = _issue(forge, comment)
    forge.announce(
        issue_comment_event(forge.view, repository, issue, edited, action="edited", sender=sender, **changes)
    )
    return edited


def delete_comment(forge: Forge, repository: Repository, comment: Comment, sender: str) -> None:
    """A comment goes, with the reactions to it."""
    event = issue_comment_event(
        forge.view, repository, _issue(forge, comment), comment, action="deleted", sender=sender
    )
    del forge.state.comments[comment.id]
    for reaction in forge.state.reactions_to(comment.id):
        del forge.state.reactions[reaction.id]
    forge.announce(event)


def _issue(forge: Forge, comment: Comment) -> Issue:
    issue = forge.state.issue(comment.repo_id, comment.number)
    if issue is None:
        raise LookupError(f"comment {comment.id} is on no issue")
    return issue
