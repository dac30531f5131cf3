"""Issues, and what pull requests share with them: state, labels, lock."""

from typing import Any, Literal

from litestar import Response, delete, get, patch, post, put
from pydantic import Field

from bot.forge import pulls
from bot.forge.access import COMMENT, CONTENTS_WRITE, ISSUES_READ, LABEL
from bot.forge.errors import Forbidden, NotFound
from bot.forge.records import Issue, Repository, Role
from bot.forge.rest.call import Call, Input
from bot.forge.shapes import Json
from bot.forge.shapes.issues import issue as issue_shape
from bot.forge.shapes.issues import label as label_shape


class IssueInput(Input):
    """What opens an issue."""

    title: str = Field(min_length=1)
    body: str | None = None


class IssueEditInput(Input):
    """What `PATCH` may change."""

    title: str | None = Field(default=None, min_length=1)
    body: str | None = None
    state: Literal["open", "closed"] | None = None


class LabelsInput(Input):
    """Names of labels."""

    labels: tuple[str, ...] = ()


class LockInput(Input):
    """Why a conversation is locked."""

    lock_reason: str | None = None


@get("/issues", need=ISSUES_READ)
async def list_issues(call: Call, repository: Repository) -> Response[Any]:
    """Issues and pull requests, newest first."""
    state = call.request.query_params.get("state", "open")
    rows = [issue for issue in call.state.issues_of(repository.id) if state in ("all", issue.state)]
    return call.page(rows[::-1], lambda issue: issue_shape(call.view, repository, issue))


@post("/issues", need=COMMENT)
async def create_issue(call: Call, repository: Repository) -> Response[Json]:
    """Open an issue."""
    wanted = await call.body(IssueInput)
    issue = pulls.open_issue(call.forge, repository, wanted.title, wanted.body, call.login)
    return Response(issue_shape(call.view, repository, issue), status_code=201)


@get("/issues/{number:int}", need=ISSUES_READ)
async def get_issue(call: Call, repository: Repository, number: int) -> Json:
    """One issue, or a pull request seen as one."""
    return issue_shape(call.view, repository, call.issue(repository, number))


@patch("/issues/{number:int}", need=COMMENT)
async def update_issue(call: Call, repository: Repository, number: int) -> Json:
    """Change title, body or state."""
    issue = call.issue(repository, number)
    if issue.author != call.login and not call.role(repository).covers(Role.TRIAGE):
        raise Forbidden("Resource not accessible")
    wanted = (await call.body(IssueEditInput)).model_dump(exclude_unset=True)
    state = wanted.pop("state", None)
    issue = pulls.edit(call.forge, repository, issue, call.login, **wanted)
    if state == "closed":
        issue = pulls.close(call.forge, repository, issue, call.login)
    elif state == "open":
        issue = await pulls.reopen(call.forge, repository, issue, call.login)
    return issue_shape(call.view, repository, issue)


def _labels(call: Call, repository: Repository, issue: Issue) -> list[Json]:
    return [label_shape(call.view, repository, name) for name in issue.labels]


@get("/issues/{number:int}/labels", need=ISSUES_READ)
async def list_labels(call: Call, repository: Repository, number: int) -> list[Json]:
    """An issue's labels."""
    return _labels(call, repository, call.issue(repository, number))


async def _names(call: Call) -> tuple[str, ...]:
    """The names in a body, which is `{"labels": […]}` or, as PyGithub sends it, the bare list."""
    raw = (await call.request.body()).lstrip()
    if raw.startswith(b"["):
        return LabelsInput.model_validate_json(b'{"labels":' + raw + b"}").labels
    return (await call.body(LabelsInput)).labels


@post("/issues/{number:int}/labels", need=LABEL, status_code=200)
async def add_labels(call: Call, repository: Repository, number: int) -> list[Json]:
    """Add labels."""
    issue = call.issue(repository, number)
    wanted = (*issue.labels, *await _names(call))
    return _labels(call, repository, pulls.set_labels(call.forge, repository, issue, wanted, call.login))


@put("/issues/{number:int}/labels", need=LABEL)
async def replace_labels(call: Call, repository: Repository, number: int) -> list[Json]:
    """Replace the labels."""
    issue = call.issue(repository, number)
    changed = pulls.set_labels(call.forge, repository, issue, await _names(call), call.login)
    return _labels(call, repository, changed)


@delete("/issues/{number:int}/labels/{name:str}", need=LABEL, status_code=200)
async def remove_label(call: Call, repository: Repository, number: int, name: str) -> list[Json]:
    """Take a label off."""
    issue = call.issue(repository, number)
    if name not in issue.labels:
        raise NotFound("Label does not exist")
    rest = tuple(other for other in issue.labels if other != name)
    return _labels(call, repository, pulls.set_labels(call.forge, repository, issue, rest, call.login))


@put("/issues/{number:int}/lock", need=CONTENTS_WRITE, status_code=204)
async def lock_issue(call: Call, repository: Repository, number: int) -> None:
    """Lock the conversation: only writers may comment from now on."""
    reason = (await call.body(LockInput)).lock_reason
    pulls.set_lock(call.forge, repository, call.issue(repository, number), call.login, locked=True, reason=reason)


@delete("/issues/{number:int}/lock", need=CONTENTS_WRITE)
async def unlock_issue(call: Call, repository: Repository, number: int) -> None:
    """Unlock the conversation."""
    pulls.set_lock(call.forge, repository, call.issue(repository, number), call.login, locked=False)


REPOSITORY_ROUTES = [
    list_issues,
    create_issue,
    get_issue,
    update_issue,
    list_labels,
    add_labels,
    replace_labels,
    remove_label,
    lock_issue,
    unlock_issue,
]
