"""Check runs, which only Apps may write, and commit statuses, which anybody with write access may."""

from datetime import datetime
from typing import Any, Literal

from litestar import Response, get, patch, post
from pydantic import Field

from bot.forge.access import CHECK, CHECKS_READ, SET_STATUS, STATUSES_READ
from bot.forge.errors import Forbidden, NotFound, Unprocessable
from bot.forge.payloads import check_run_event
from bot.forge.records import CheckAction, CheckRun, CommitStatus, Repository
from bot.forge.rest.call import Call, Input
from bot.forge.shapes import Json
from bot.forge.shapes.checks import check_run, commit_status
from bot.forge.state import now

Conclusion = Literal["action_required", "cancelled", "failure", "neutral", "success", "skipped", "stale", "timed_out"]


class OutputInput(Input):
    """What a check run's page shows, in Markdown."""

    title: str | None = None
    summary: str | None = Field(default=None, max_length=65_535)
    text: str | None = Field(default=None, max_length=65_535)


class ActionInput(Input):
    """A button; the lengths are GitHub's."""

    label: str = Field(max_length=20)
    description: str = Field(max_length=40)
    identifier: str = Field(max_length=20)


class CheckRunEditInput(Input):
    """What may change on a check run."""

    name: str | None = None
    details_url: str | None = None
    external_id: str | None = None
    status: Literal["queued", "in_progress", "completed"] | None = None
    conclusion: Conclusion | None = None
    started_at: datetime | None = None
    completed_at: datetime | None = None
    output: OutputInput | None = None
    actions: tuple[ActionInput, ...] | None = Field(default=None, max_length=3)


class CheckRunInput(CheckRunEditInput):
    """What makes a check run."""

    name: str = Field(min_length=1)
    head_sha: str = Field(min_length=1)


class StatusInput(Input):
    """What makes a commit status."""

    state: Literal["error", "failure", "pending", "success"]
    target_url: str | None = None
    description: str | None = Field(default=None, max_length=140)
    context: str = "default"


def known(call: Call, repository: Repository, check_run_id: int) -> CheckRun:
    """A check run of this repository. Raises NotFound."""
    run = call.state.check_runs.get(check_run_id)
    if run is None or run.repo_id != repository.id:
        raise NotFound
    return run


def _asked(wanted: CheckRunEditInput) -> dict[str, Any]:
    """A body as fields of a record; a conclusion completes the run, as on GitHub."""
    fields = wanted.model_dump(exclude_unset=True, exclude={"output", "actions", "head_sha"})
    if wanted.output:
        fields |= wanted.output.model_dump(exclude_unset=True)
    if wanted.actions is not None:
        fields["actions"] = tuple(CheckAction(**action.model_dump()) for action in wanted.actions)
    if wanted.conclusion:
        fields |= {"status": "completed", "completed_at": wanted.completed_at or now()}
    elif wanted.status in ("queued", "in_progress"):
        fields |= {"conclusion": None, "completed_at": None}
    return fields


@post("/check-runs", need=CHECK)
async def create_check_run(call: Call, repository: Repository) -> Response[Json]:
    """A new check run; a person's token may not, which GitHub answers with 403."""
    if call.app_id is None:
        raise Forbidden("You must authenticate via a GitHub App.")
    wanted = await call.body(CheckRunInput)
    if wanted.status == "completed" and wanted.conclusion is None:
        raise Unprocessable.field("CheckRun", "conclusion", "missing_field")
    sha = await call.forge.git.resolve(repository.id, wanted.head_sha)
    if sha is None:
        raise Unprocessable(f"No commit found for SHA: {wanted.head_sha}")
    suites = [run.suite_id for run in call.state.checks_of(repository.id, sha) if run.app_id == call.app_id]
    run = CheckRun(
        id=call.state.new_id(),
        repo_id=repository.id,
        app_id=call.app_id,
        suite_id=suites[0] if suites else call.state.new_id(),
        head_sha=sha,
        **({"started_at": now()} | _asked(wanted)),
    )
    return Response(_told(call, repository, run, "created"), status_code=201)


@patch("/check-runs/{check_run_id:int}", need=CHECK)
async def update_check_run(call: Call, repository: Repository, check_run_id: int) -> Json:
    """Change a check run; only the App that made it may."""
    run = known(call, repository, check_run_id)
    if call.app_id != run.app_id:
        raise Forbidden("Invalid app_id for check run")
    changed = run.model_copy(update=_asked(await call.body(CheckRunEditInput)))
    return _told(call, repository, changed, "completed" if changed.conclusion and not run.conclusion else None)


def _told(call: Call, repository: Repository, run: CheckRun, action: str | None) -> Json:
    call.state.check_runs[run.id] = run
    if action:
        call.announce(check_run_event(call.view, repository, run, action, call.login))
    return check_run(call.view, repository, run)


@get("/check-runs/{check_run_id:int}", need=CHECKS_READ)
async def get_check_run(call: Call, repository: Repository, check_run_id: int) -> Json:
    """One check run."""
    return check_run(call.view, repository, known(call, repository, check_run_id))


@post("/check-runs/{check_run_id:int}/rerequest", need=CHECK)
async def rerequest_check_run(call: Call, repository: Repository, check_run_id: int) -> Json:
    """Ask the run's App to do it again, as the *Re-run* button does."""
    run = known(call, repository, check_run_id)
    call.announce(check_run_event(call.view, repository, run, "rerequested", call.login))
    return {}


@get("/commits/{ref:str}/check-runs", need=CHECKS_READ)
async def list_check_runs(call: Call, repository: Repository, ref: str) -> Response[Any]:
    """The check runs of a commit; of each App and name only the latest, unless `filter=all`."""
    query = call.request.query_params
    sha = await call.forge.git.resolve(repository.id, ref) or ref
    runs = call.state.checks_of(repository.id, sha)
    name, app = query.get("check_name"), query.get("app_id")
    runs = [run for run in runs if name in (None, run.name) and app in (None, str(run.app_id))]
    if query.get("filter", "latest") == "latest":
        runs = list({(run.app_id, run.name): run for run in runs}.values())
    return call.page(runs, lambda run: check_run(call.view, repository, run), wrap="check_runs")


@post("/statuses/{sha:str}", need=SET_STATUS)
async def create_status(call: Call, repository: Repository, sha: str) -> Response[Json]:
    """A new commit status."""
    wanted = await call.body(StatusInput)
    if await call.forge.git.resolve(repository.id, sha) is None:
        raise Unprocessable(f"No commit found for SHA: {sha}")
    key = call.state.new_id()
    fields = wanted.model_dump()
    row = CommitStatus(id=key, repo_id=repository.id, sha=sha, creator=call.login, created_at=now(), **fields)
    call.state.commit_statuses[key] = row
    return Response(commit_status(call.view, repository, row), status_code=201)


@get(["/commits/{ref:str}/statuses", "/statuses/{ref:str}"], need=STATUSES_READ)
async def list_statuses(call: Call, repository: Repository, ref: str) -> Response[Any]:
    """A commit's statuses, newest first."""
    sha = await call.forge.git.resolve(repository.id, ref)
    rows = [row for row in call.state.commit_statuses.values() if (row.repo_id, row.sha) == (repository.id, sha)]
    return call.page(rows[::-1], lambda row: commit_status(call.view, repository, row))


REPOSITORY_ROUTES = [
    create_check_run,
    update_check_run,
    get_check_run,
    rerequest_check_run,
    list_check_runs,
    create_status,
    list_statuses,
]
