"""Pull requests: opened, read, listed, changed, merged."""

from typing import Any, Literal

from litestar import Response, get, patch, post, put
from pydantic import Field

from bot.forge import pulls
from bot.forge.access import CONTENTS_READ, CONTENTS_WRITE, PULLS_READ, PULLS_WRITE, demand
from bot.forge.errors import Conflict, Forbidden, MethodNotAllowed, NotFound, Unprocessable
from bot.forge.git import GitFailed
from bot.forge.pushes import announce_moves
from bot.forge.records import Issue, Repository, Role
from bot.forge.rest.call import Call, Input
from bot.forge.shapes import Json
from bot.forge.shapes.pulls import pull_of, pull_request, simple_pull
from bot.forge.shapes.repositories import commit_of

SORTS = {"created": "created_at", "updated": "updated_at"}


class PullRequestInput(Input):
    """What opens a pull request. `head` is `branch`, or `owner:branch` for a fork."""

    title: str = Field(min_length=1)
    head: str = Field(min_length=1)
    base: str = Field(min_length=1)
    body: str | None = None
    draft: bool = False


class PullRequestEditInput(Input):
    """What `PATCH` may change. `draft` is an addition of the forge's: GitHub has it in GraphQL only."""

    title: str | None = Field(default=None, min_length=1)
    body: str | None = None
    state: Literal["open", "closed"] | None = None
    base: str | None = None
    draft: bool | None = None


def known(call: Call, repository: Repository, number: int) -> Issue:
    """A pull request. Raises NotFound, for plain issues as well."""
    issue = call.issue(repository, number)
    if issue.pull is None:
        raise NotFound
    return issue


@get("/pulls", need=PULLS_READ)
async def list_pulls(call: Call, repository: Repository) -> Response[Any]:
    """Pull requests by state, head and base; newest first unless asked otherwise."""
    query = call.request.query_params
    state, head, base = query.get("state", "open"), query.get("head"), query.get("base")
    rows = [
        issue
        for issue in call.state.issues_of(repository.id)
        if issue.pull
        and state in ("all", issue.state)
        and base in (None, issue.pull.base_ref)
        and head in (None, f"{issue.pull.head_owner}:{issue.pull.head_ref}")
    ]
    sort = query.get("sort", "created")
    descending = query.get("direction", "desc" if sort == "created" else "asc") == "desc"
    rows.sort(key=lambda issue: (getattr(issue, SORTS.get(sort, "created_at")), issue.number), reverse=descending)
    return call.page(rows, lambda issue: simple_pull(call.view, repository, issue))


@post("/pulls", need=PULLS_WRITE)
async def create_pull(call: Call, repository: Repository) -> Response[Json]:
    """Open a pull request."""
    wanted = await call.body(PullRequestInput)
    head_repo, branch = _head(call, repository, wanted.head)
    for other, base in call.state.pulls_from(head_repo.id, branch):
        if base.id == repository.id and pull_of(other).base_ref == wanted.base:
            raise Unprocessable.custom("PullRequest", f"A pull request already exists for {head_repo.owner}:{branch}.")
    for field, repo, name in (("head", head_repo, branch), ("base", repository, wanted.base)):
        if await call.forge.git.resolve(repo.id, f"refs/heads/{name}") is None:
            raise Unprocessable.field("PullRequest", field)
    try:
        issue = await pulls.open_pull(
            call.forge,
            repository,
            head_repo,
            head=branch,
            base=wanted.base,
            title=wanted.title,
            body=wanted.body,
            author=call.login,
            draft=wanted.draft,
        )
    except pulls.NothingToMerge as nothing:
        raise Unprocessable.custom("PullRequest", str(nothing)) from nothing
    body = pull_request(call.view, repository, issue)
    return Response(body, status_code=201, headers={"Location": body["url"]})


def _head(call: Call, repository: Repository, head: str) -> tuple[Repository, str]:
    owner, _, branch = head.rpartition(":")
    if not owner:
        return repository, branch
    for repo in call.state.network(repository):
        if repo.owner.lower() == owner.lower():
            demand(call.state, call.caller, repo, CONTENTS_READ)
            return repo, branch
    raise Unprocessable.field("PullRequest", "head")


@get("/pulls/{number:int}", need=PULLS_READ)
async def get_pull(call: Call, repository: Repository, number: int) -> Json:
    """One pull request."""
    return pull_request(call.view, repository, known(call, repository, number))


@patch("/pulls/{number:int}", need=PULLS_WRITE)
async def update_pull(call: Call, repository: Repository, number: int) -> Json:
    """Change title, body, base, draft or state; each change is told by an event of its own."""
    issue = known(call, repository, number)
    if issue.author != call.login and not call.role(repository).covers(Role.WRITE):
        raise Forbidden("Resource not accessible")
    wanted = await call.body(PullRequestEditInput)
    asked = wanted.model_dump(exclude_unset=True)
    texts = {name: asked[name] for name in ("title", "body") if name in asked}
    issue = pulls.edit(call.forge, repository, issue, call.login, **texts)
    try:
        if wanted.base:
            issue = await pulls.retarget(call.forge, repository, issue, wanted.base, call.login)
        if wanted.draft is not None:
            issue = pulls.set_draft(call.forge, repository, issue, wanted.draft, call.login)
        if wanted.state == "closed":
            issue = pulls.close(call.forge, repository, issue, call.login)
        elif wanted.state == "open":
            issue = await _reopen(call, repository, issue)
    except pulls.NothingToMerge as nothing:
        raise Unprocessable.custom("PullRequest", str(nothing)) from nothing
    return pull_request(call.view, repository, issue)


async def _reopen(call: Call, repository: Repository, issue: Issue) -> Issue:
    if pull_of(issue).merged_at or pull_of(issue).head_repo_id not in call.state.repositories:
        raise Unprocessable.custom("PullRequest", "state cannot be changed.")
    return await pulls.reopen(call.forge, repository, issue, call.login)


@get("/pulls/{number:int}/commits", need=PULLS_READ)
async def list_pull_commits(call: Call, repository: Repository, number: int) -> Response[Any]:
    """A pull request's commits, oldest first."""
    pull = pull_of(known(call, repository, number))
    commits = await call.forge.git.commits(repository.id, pull.head_sha, without=pull.base_sha)
    return call.page(commits[::-1], lambda commit: commit_of(call.view, repository, commit))


@get("/pulls/{number:int}/files", need=PULLS_READ)
async def list_pull_files(call: Call, repository: Repository, number: int) -> Response[Any]:
    """The files that a pull request changes, with their numbers of lines."""
    pull = pull_of(known(call, repository, number))
    difference = await call.forge.git.difference(repository.id, pull.base_sha, pull.head_sha)

    def shape(row: tuple[str, int, int]) -> Json:
        path, added, deleted = row
        lines = {"additions": added, "deletions": deleted, "changes": added + deleted}
        return {"sha": pull.head_sha, "filename": path, "status": "modified", **lines}

    return call.page(difference.files, shape)


@put("/pulls/{number:int}/merge", need=CONTENTS_WRITE)
async def merge_pull(call: Call, repository: Repository, number: int) -> Json:
    """Merge a pull request with a merge commit; the base branch moves, and hooks hear of both."""
    issue = known(call, repository, number)
    if issue.state == "closed" or pull_of(issue).draft:
        raise MethodNotAllowed("Pull Request is not mergeable")
    async with call.forge.git.lock(repository.id):
        before = await call.forge.git.refs(repository.id)
        try:
            issue = await pulls.merge(call.forge, repository, issue, call.login)
        except GitFailed as conflict:
            raise Conflict("Merge conflict") from conflict
        await announce_moves(call.forge, repository, before, call.login)
    return {"sha": pull_of(issue).merge_commit_sha, "merged": True, "message": "Pull Request successfully merged"}


REPOSITORY_ROUTES = [
    list_pulls,
    create_pull,
    get_pull,
    update_pull,
    list_pull_commits,
    list_pull_files,
    merge_pull,
]
