"""Repositories, their branches, commits and files."""

from typing import Any

from litestar import Response, delete, get, patch, post

from bot.forge.access import ADMINISTER, CONTENTS_READ, METADATA_READ
from bot.forge.errors import NotFound, Unprocessable
from bot.forge.records import Repository
from bot.forge.repositories import delete_repository, rename_repository, transfer_repository, update_repository
from bot.forge.rest.call import Call, Input
from bot.forge.shapes import Json
from bot.forge.shapes.repositories import branch, commit_of, content, full_repository

RAW = ("application/vnd.github.raw", "application/vnd.github.raw+json", "application/vnd.github.v3.raw")


class RepositoryInput(Input):
    """What `PATCH /repos/{owner}/{repo}` may change."""

    name: str | None = None
    description: str | None = None
    private: bool | None = None
    archived: bool | None = None
    default_branch: str | None = None


class TransferInput(Input):
    """Who gets a repository."""

    new_owner: str


@get("/", need=METADATA_READ)
async def get_repository(call: Call, repository: Repository) -> Json:
    """A repository."""
    return full_repository(call.view, repository, role=call.role(repository))


@patch("/", need=ADMINISTER)
async def edit_repository(call: Call, repository: Repository) -> Json:
    """Rename, archive, hide or show a repository."""
    wanted = (await call.body(RepositoryInput)).model_dump(exclude_unset=True)
    name = wanted.pop("name", None)
    repository = update_repository(call.forge, repository, call.login, **wanted)
    if name and name != repository.name:
        if call.state.repository(f"{repository.owner}/{name}"):
            raise Unprocessable.custom("Repository", "name already exists on this account")
        repository = rename_repository(call.forge, repository, name, call.login)
    return full_repository(call.view, repository, role=call.role(repository))


@post("/transfer", need=ADMINISTER, status_code=202)
async def transfer(call: Call, repository: Repository) -> Json:
    """Give a repository to another account, at once and without asking it."""
    owner = call.state.user((await call.body(TransferInput)).new_owner)
    if owner is None:
        raise Unprocessable.field("Repository", "new_owner")
    if call.state.repository(f"{owner.login}/{repository.name}"):
        raise Unprocessable.custom("Repository", "name already exists on this account")
    return full_repository(call.view, transfer_repository(call.forge, repository, owner.login, call.login))


@delete("/", need=ADMINISTER)
async def remove_repository(call: Call, repository: Repository) -> None:
    """Delete a repository; its forks live on."""
    delete_repository(call.forge, repository, call.login)


@get("/branches", need=CONTENTS_READ)
async def list_branches(call: Call, repository: Repository) -> Response[Any]:
    """Every branch with the sha at its tip."""
    refs = await call.forge.git.refs(repository.id)
    names = {ref.removeprefix("refs/heads/"): sha for ref, sha in refs.items() if ref.startswith("refs/heads/")}
    url = call.forge.urls.repository(repository)

    def shape(row: tuple[str, str]) -> Json:
        name, sha = row
        return {"name": name, "commit": {"sha": sha, "url": f"{url}/commits/{sha}"}, "protected": False}

    return call.page(list(names.items()), shape)


@get("/branches/{name:path}", need=CONTENTS_READ)
async def get_branch(call: Call, repository: Repository, name: str) -> Json:
    """One branch."""
    name = name.strip("/")
    sha = (await call.forge.git.refs(repository.id)).get(f"refs/heads/{name}")
    if sha is None:
        raise NotFound("Branch not found")
    (commit,) = await call.forge.git.commits(repository.id, sha, limit=1)
    return branch(call.view, repository, name, commit)


@get("/commits", need=CONTENTS_READ)
async def list_commits(call: Call, repository: Repository) -> Response[Any]:
    """The commits that a branch, tag or sha (`sha=`) leads to, newest first."""
    tip = await _commit(call, repository, call.request.query_params.get("sha") or repository.default_branch)
    commits = await call.forge.git.commits(repository.id, tip)
    return call.page(commits, lambda commit: commit_of(call.view, repository, commit))


@get("/commits/{ref:str}", need=CONTENTS_READ)
async def get_commit(call: Call, repository: Repository, ref: str) -> Json:
    """One commit."""
    tip = await _commit(call, repository, ref)
    (commit,) = await call.forge.git.commits(repository.id, tip, limit=1)
    return commit_of(call.view, repository, commit)


@get(["/contents", "/contents/{path:path}"], need=CONTENTS_READ)
async def get_contents(call: Call, repository: Repository, path: str = "") -> Response[Any]:
    """A file with its content, or a folder's entries, at `ref` (the default branch when not given)."""
    git, ref = call.forge.git, call.request.query_params.get("ref") or repository.default_branch
    tip = await git.resolve(repository.id, ref)
    if tip is None:
        raise NotFound(f"No commit found for the ref {ref}")
    entries = await git.entries(repository.id, tip, path.strip("/"))
    if not entries:
        raise NotFound
    if len(entries) > 1 or entries[0].type == "dir" or entries[0].path != path.strip("/"):
        return Response([content(call.view, repository, entry, ref, None) for entry in entries])
    data = await git.read(repository.id, entries[0].sha)
    if call.request.headers.get("accept", "") in RAW:
        return Response(data, media_type="application/vnd.github.raw; charset=utf-8")
    return Response(content(call.view, repository, entries[0], ref, data))


async def _commit(call: Call, repository: Repository, ref: str) -> str:
    """The sha that a ref names. Raises Unprocessable, which is how GitHub's commits endpoints answer."""
    sha = await call.forge.git.resolve(repository.id, ref)
    if sha is None:
        raise Unprocessable(f"No commit found for SHA: {ref}")
    return sha


REPOSITORY_ROUTES = [
    get_repository,
    edit_repository,
    transfer,
    remove_repository,
    list_branches,
    get_branch,
    list_commits,
    get_commit,
    get_contents,
]
