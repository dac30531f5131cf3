"""Admin calls for people and repositories."""

from litestar import post, put
from pydantic import Field

from bot.forge import apps
from bot.forge.admin.door import AdminInput, repository_named
from bot.forge.records import Role
from bot.forge.repositories import create_repository, fork_repository
from bot.forge.rest.call import Call
from bot.forge.shapes import Json
from bot.forge.shapes.repositories import full_repository


class UserInput(AdminInput):
    """A user to create."""

    login: str = Field(min_length=1)
    type: str = "User"


class RepositoryInput(AdminInput):
    """A repository to create."""

    owner: str
    name: str = Field(min_length=1)
    private: bool = False
    permissions: dict[str, Role] = Field(default_factory=dict)
    default_branch: str = "main"


class ForkInput(AdminInput):
    """A fork to make."""

    repository: str
    owner: str


class PermissionInput(AdminInput):
    """A role to give."""

    repository: str
    login: str
    role: Role


@post("/users")
async def add_user(admin: Call) -> Json:
    """Create a user, or get another token for one."""
    wanted = await admin.body(UserInput)
    return {"login": wanted.login, "token": apps.create_user(admin.forge, wanted.login, wanted.type)}


@post("/repositories")
async def add_repository(admin: Call) -> Json:
    """Create a repository."""
    wanted = await admin.body(RepositoryInput)
    repository = await create_repository(
        admin.forge,
        wanted.owner,
        wanted.name,
        private=wanted.private,
        roles=wanted.permissions,
        default_branch=wanted.default_branch,
    )
    return full_repository(admin.view, repository)


@post("/forks")
async def add_fork(admin: Call) -> Json:
    """Fork a repository."""
    wanted = await admin.body(ForkInput)
    return full_repository(
        admin.view, await fork_repository(admin.forge, repository_named(admin, wanted.repository), wanted.owner)
    )


@put("/permissions")
async def give_permission(admin: Call) -> Json:
    """Give a person a role in a repository."""
    wanted = await admin.body(PermissionInput)
    repository = repository_named(admin, wanted.repository)
    roles = {**repository.roles, wanted.login.lower(): wanted.role}
    admin.state.repositories[repository.id] = repository.model_copy(update={"roles": roles})
    return {}


ROUTES = [
    add_user,
    add_repository,
    add_fork,
    give_permission,
]
