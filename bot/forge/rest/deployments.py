"""Deployments and their statuses."""

from typing import Any, Literal

from litestar import Response, delete, get, post
from pydantic import Field, JsonValue

from bot.forge.access import DEPLOY, DEPLOYMENTS_READ
from bot.forge.errors import NotFound, Unprocessable
from bot.forge.payloads import deployment_event, deployment_status_event
from bot.forge.records import Deployment, DeploymentStatus, Repository
from bot.forge.rest.call import Call, Input
from bot.forge.shapes import Json
from bot.forge.shapes.deployments import deployment as deployment_shape
from bot.forge.shapes.deployments import deployment_status as status_shape
from bot.forge.state import now

ENDED = ("inactive", "error", "failure")


class DeploymentInput(Input):
    """What makes a deployment. `ref` is a branch, tag or sha."""

    ref: str = Field(min_length=1)
    task: str = "deploy"
    payload: JsonValue = None
    environment: str = "production"
    description: str | None = Field(default=None, max_length=140)
    transient_environment: bool = False
    production_environment: bool | None = None


class DeploymentStatusInput(Input):
    """What makes a deployment status. `auto_inactive` retires earlier successes of the same environment."""

    state: Literal["error", "failure", "inactive", "in_progress", "queued", "pending", "success"]
    description: str = ""
    environment: str | None = None
    environment_url: str = ""
    log_url: str = ""
    target_url: str = ""
    auto_inactive: bool = True


def known(call: Call, repository: Repository, deployment_id: int) -> Deployment:
    """A deployment of this repository. Raises NotFound."""
    row = call.state.deployments.get(deployment_id)
    if row is None or row.repo_id != repository.id:
        raise NotFound
    return row


@post("/deployments", need=DEPLOY)
async def create_deployment(call: Call, repository: Repository) -> Response[Json]:
    """A new deployment."""
    wanted = await call.body(DeploymentInput)
    sha = await call.forge.git.resolve(repository.id, wanted.ref)
    if sha is None:
        raise Unprocessable(f"No ref found for: {wanted.ref}")
    moment = now()
    production = wanted.production_environment
    fields = wanted.model_dump() | {
        "production_environment": wanted.environment == "production" if production is None else production,
        "sha": sha,
        "creator": call.login,
        "app_id": call.app_id,
        "created_at": moment,
        "updated_at": moment,
    }
    row = Deployment(id=call.state.new_id(), repo_id=repository.id, **fields)
    call.state.deployments[row.id] = row
    call.announce(deployment_event(call.view, repository, row, call.login))
    body = deployment_shape(call.view, repository, row)
    return Response(body, status_code=201, headers={"Location": body["url"]})


@get("/deployments", need=DEPLOYMENTS_READ)
async def list_deployments(call: Call, repository: Repository) -> Response[Any]:
    """Deployments by sha, ref, task and environment, newest first."""
    query = call.request.query_params
    rows = [
        row
        for row in call.state.deployments.values()
        if row.repo_id == repository.id
        and all(query.get(name) in (None, getattr(row, name)) for name in ("sha", "ref", "task", "environment"))
    ]
    return call.page(rows[::-1], lambda row: deployment_shape(call.view, repository, row))


@get("/deployments/{deployment_id:int}", need=DEPLOYMENTS_READ)
async def get_deployment(call: Call, repository: Repository, deployment_id: int) -> Json:
    """One deployment."""
    return deployment_shape(call.view, repository, known(call, repository, deployment_id))


@delete("/deployments/{deployment_id:int}", need=DEPLOY)
async def remove_deployment(call: Call, repository: Repository, deployment_id: int) -> None:
    """Delete a deployment; one that is active must be made inactive first, unless it is the only one.

    https://docs.github.com/en/rest/deployments/deployments#delete-a-deployment
    """
    row = known(call, repository, deployment_id)
    statuses = call.state.statuses_of(deployment_id)
    others = [o for o in call.state.deployments.values() if o.repo_id == repository.id and o.id != row.id]
    if others and (not statuses or statuses[0].state not in ENDED):
        raise Unprocessable("We cannot delete an active deployment unless it is the only deployment.")
    for status in statuses:
        del call.state.deployment_statuses[status.id]
    del call.state.deployments[deployment_id]


@post("/deployments/{deployment_id:int}/statuses", need=DEPLOY)
async def create_deployment_status(call: Call, repository: Repository, deployment_id: int) -> Response[Json]:
    """Say how a deployment stands."""
    row = known(call, repository, deployment_id)
    wanted = await call.body(DeploymentStatusInput)
    status = _add_status(call, row, wanted)
    if wanted.state == "success" and wanted.auto_inactive:
        _retire_others(call, row, status.environment)
    call.state.deployments[row.id] = row = row.model_copy(update={"updated_at": now()})
    call.announce(deployment_status_event(call.view, repository, row, status, call.login))
    body = status_shape(call.view, repository, status)
    return Response(body, status_code=201, headers={"Location": body["url"]})


def _add_status(call: Call, row: Deployment, wanted: DeploymentStatusInput) -> DeploymentStatus:
    status = DeploymentStatus(
        id=call.state.new_id(),
        deployment_id=row.id,
        state=wanted.state,
        creator=call.login,
        created_at=now(),
        description=wanted.description,
        environment=wanted.environment or row.environment,
        environment_url=wanted.environment_url,
        log_url=wanted.log_url or wanted.target_url,
        app_id=call.app_id,
    )
    call.state.deployment_statuses[status.id] = status
    return status


def _retire_others(call: Call, row: Deployment, environment: str) -> None:
    """Earlier successes in the environment become inactive, unless they are of production or transient."""
    for other in list(call.state.deployments.values()):
        same_place = (other.repo_id, other.environment) == (row.repo_id, environment) and other.id != row.id
        latest = call.state.statuses_of(other.id)
        lasting = not other.transient_environment and not other.production_environment
        if same_place and lasting and latest and latest[0].state == "success":
            _add_status(call, other, DeploymentStatusInput(state="inactive"))


@get("/deployments/{deployment_id:int}/statuses", need=DEPLOYMENTS_READ)
async def list_deployment_statuses(call: Call, repository: Repository, deployment_id: int) -> Response[Any]:
    """A deployment's statuses, newest first."""
    known(call, repository, deployment_id)
    rows = call.state.statuses_of(deployment_id)
    return call.page(rows, lambda row: status_shape(call.view, repository, row))


REPOSITORY_ROUTES = [
    create_deployment,
    list_deployments,
    get_deployment,
    remove_deployment,
    create_deployment_status,
    list_deployment_statuses,
]
