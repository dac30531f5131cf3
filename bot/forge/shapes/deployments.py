"""Deployments and their statuses as GitHub shows them."""

from bot.forge.records import Deployment, DeploymentStatus, Repository
from bot.forge.shapes import Json, node_id, stamp
from bot.forge.shapes.apps import app_or_none
from bot.forge.shapes.users import simple_user
from bot.forge.view import View


def deployment(view: View, repo: Repository, row: Deployment) -> Json:
    """A deployment."""
    url = f"{view.urls.repository(repo)}/deployments/{row.id}"
    return {
        "id": row.id,
        "node_id": node_id("Deployment", row.id),
        "url": url,
        "sha": row.sha,
        "ref": row.ref,
        "task": row.task,
        "payload": row.payload if row.payload is not None else {},
        "original_environment": row.environment,
        "environment": row.environment,
        "description": row.description,
        "creator": simple_user(view, row.creator),
        "created_at": stamp(row.created_at),
        "updated_at": stamp(row.updated_at),
        "statuses_url": f"{url}/statuses",
        "repository_url": view.urls.repository(repo),
        "transient_environment": row.transient_environment,
        "production_environment": row.production_environment,
        "performed_via_github_app": app_or_none(view, row.app_id),
    }


def deployment_status(view: View, repo: Repository, row: DeploymentStatus) -> Json:
    """One status of a deployment."""
    deployment_url = f"{view.urls.repository(repo)}/deployments/{row.deployment_id}"
    return {
        "id": row.id,
        "node_id": node_id("DeploymentStatus", row.id),
        "url": f"{deployment_url}/statuses/{row.id}",
        "state": row.state,
        "creator": simple_user(view, row.creator),
        "description": row.description,
        "environment": row.environment,
        "environment_url": row.environment_url,
        "log_url": row.log_url,
        "target_url": row.log_url,
        "created_at": stamp(row.created_at),
        "updated_at": stamp(row.created_at),
        "deployment_url": deployment_url,
        "repository_url": view.urls.repository(repo),
        "performed_via_github_app": app_or_none(view, row.app_id),
    }
