"""Comments on issues and pull requests, and the reactions to them."""

from typing import Any, Literal

from litestar import Response, delete, get, patch, post
from pydantic import Field

from bot.forge.access import COMMENT, ISSUES_READ
from bot.forge.comments import add_comment, delete_comment, edit_comment
from bot.forge.errors import Forbidden, NotFound, Unprocessable
from bot.forge.records import Comment, Reaction, Repository, Role
from bot.forge.rest.call import Call, Input
from bot.forge.shapes import Json
from bot.forge.shapes.comments import comment as comment_shape
from bot.forge.shapes.comments import reaction as reaction_shape
from bot.forge.state import now

MAX_BODY = 65_536
"""Characters; longer comments are refused: measured on github.com, stated nowhere in its documentation."""


class IssueCommentInput(Input):
    """A comment's text."""

    body: str = Field(min_length=1)


class ReactionInput(Input):
    """One of GitHub's eight reactions."""

    content: Literal["+1", "-1", "laugh", "confused", "heart", "hooray", "rocket", "eyes"]


def shown(call: Call, repository: Repository, comment: Comment) -> Json:
    """A comment with the issue that it is on."""
    return comment_shape(call.view, repository, call.issue(repository, comment.number), comment)


def known(call: Call, repository: Repository, comment_id: int) -> Comment:
    """A comment of this repository. Raises NotFound."""
    comment = call.state.comments.get(comment_id)
    if comment is None or comment.repo_id != repository.id:
        raise NotFound
    return comment


async def _text(call: Call) -> str:
    body = (await call.body(IssueCommentInput)).body
    if len(body) > MAX_BODY:
        raise Unprocessable.custom("IssueComment", f"Body is too long (maximum is {MAX_BODY} characters)")
    return body


@get("/issues/{number:int}/comments", need=ISSUES_READ)
async def list_comments(call: Call, repository: Repository, number: int) -> Response[Any]:
    """An issue's comments, oldest first."""
    rows = call.state.comments_on(call.issue(repository, number))
    return call.page(rows, lambda row: shown(call, repository, row))


@get("/issues/comments", need=ISSUES_READ)
async def list_all_comments(call: Call, repository: Repository) -> Response[Any]:
    """A repository's comments, oldest first."""
    rows = [comment for comment in call.state.comments.values() if comment.repo_id == repository.id]
    return call.page(rows, lambda row: shown(call, repository, row))


@get("/issues/comments/{comment_id:int}", need=ISSUES_READ)
async def get_comment(call: Call, repository: Repository, comment_id: int) -> Json:
    """One comment."""
    return shown(call, repository, known(call, repository, comment_id))


@post("/issues/{number:int}/comments", need=COMMENT)
async def create_comment(call: Call, repository: Repository, number: int) -> Response[Json]:
    """A new comment; on a locked issue only writers may."""
    issue = call.issue(repository, number)
    if issue.locked and not call.role(repository).covers(Role.WRITE):
        raise Forbidden("Unable to create comment because issue is locked.")
    comment = add_comment(call.forge, repository, issue, call.login, await _text(call), app_id=call.app_id)
    body = shown(call, repository, comment)
    return Response(body, status_code=201, headers={"Location": body["url"]})


@patch("/issues/comments/{comment_id:int}", need=COMMENT)
async def update_comment(call: Call, repository: Repository, comment_id: int) -> Json:
    """A comment's new text: its author may, and writers."""
    comment = _own(call, repository, comment_id)
    return shown(call, repository, edit_comment(call.forge, repository, comment, call.login, await _text(call)))


@delete("/issues/comments/{comment_id:int}", need=COMMENT)
async def remove_comment(call: Call, repository: Repository, comment_id: int) -> None:
    """Delete a comment: its author may, and writers."""
    delete_comment(call.forge, repository, _own(call, repository, comment_id), call.login)


def _own(call: Call, repository: Repository, comment_id: int) -> Comment:
    comment = known(call, repository, comment_id)
    if comment.author != call.login and not call.role(repository).covers(Role.WRITE):
        raise Forbidden("Must have admin rights to Repository.")
    return comment


@get("/issues/comments/{comment_id:int}/reactions", need=ISSUES_READ)
async def list_reactions(call: Call, repository: Repository, comment_id: int) -> Response[Any]:
    """The reactions to a comment, oldest first."""
    known(call, repository, comment_id)
    return call.page(call.state.reactions_to(comment_id), lambda row: reaction_shape(call.view, row))


@post("/issues/comments/{comment_id:int}/reactions", need=COMMENT)
async def create_reaction(call: Call, repository: Repository, comment_id: int) -> Response[Json]:
    """React to a comment: 201, or 200 when the caller has reacted so before."""
    known(call, repository, comment_id)
    content = (await call.body(ReactionInput)).content
    for row in call.state.reactions_to(comment_id):
        if (row.author, row.content) == (call.login, content):
            return Response(reaction_shape(call.view, row), status_code=200)
    key = call.state.new_id()
    row = Reaction(id=key, comment_id=comment_id, author=call.login, content=content, created_at=now())
    call.state.reactions[key] = row
    return Response(reaction_shape(call.view, row), status_code=201)


@delete("/issues/comments/{comment_id:int}/reactions/{reaction_id:int}", need=COMMENT)
async def remove_reaction(call: Call, repository: Repository, comment_id: int, reaction_id: int) -> None:
    """Take back a reaction of one's own."""
    known(call, repository, comment_id)
    row = call.state.reactions.get(reaction_id)
    if row is None or row.comment_id != comment_id:
        raise NotFound
    if row.author != call.login:
        raise Forbidden("Resource not accessible")
    del call.state.reactions[reaction_id]


REPOSITORY_ROUTES = [
    list_comments,
    list_all_comments,
    get_comment,
    create_comment,
    update_comment,
    remove_comment,
    list_reactions,
    create_reaction,
    remove_reaction,
]
