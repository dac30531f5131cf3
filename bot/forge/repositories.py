"""What happens to whole repositories: created, forked, renamed, changed, deleted. Each tells the hooks."""

from bot.forge.forge import Forge
from bot.forge.payloads import repository_event
from bot.forge.records import Repository, Role
from bot.forge.shapes.users import simple_user
from bot.forge.state import now


async def create_repository(
    forge: Forge,
    owner: str,
    name: str,
    *,
    private: bool = False,
    roles: dict[str, Role] | None = None,
    default_branch: str = "main",
) -> Repository:
    """A new, empty repository."""
    moment = now()
    repository = Repository(
        id=forge.state.new_id(),
        owner=owner,
        name=name,
        private=private,
        created_at=moment,
        updated_at=moment,
        pushed_at=moment,
        default_branch=default_branch,
        roles={login.lower(): role for login, role in (roles or {}).items()},
    )
    await forge.git.create(repository.id, default_branch)
    _enter(forge, repository)
    forge.announce(repository_event(forge.view, repository, "created", owner))
    return repository


async def fork_repository(forge: Forge, parent: Repository, owner: str) -> Repository:
    """A copy of a repository in another account, branches and all."""
    moment = now()
    fresh = {"id": forge.state.new_id(), "owner": owner, "fork_of": parent.id, "roles": {}}
    times = {"created_at": moment, "updated_at": moment, "pushed_at": moment}
    fork = parent.model_copy(update=fresh | times)
    await forge.git.create(fork.id, fork.default_branch)
    await forge.git.copy_branches(parent.id, fork.id)
    _enter(forge, fork)
    return fork


def rename_repository(forge: Forge, repository: Repository, name: str, sender: str) -> Repository:
    """A new name; the old one redirects from now on."""
    forge.state.former_names[repository.full_name.lower()] = repository.id
    renamed = repository.model_copy(update={"name": name, "updated_at": now()})
    _enter(forge, renamed)
    changes = {"repository": {"name": {"from": repository.name}}}
    forge.announce(repository_event(forge.view, renamed, "renamed", sender, changes=changes))
    return renamed


def transfer_repository(forge: Forge, repository: Repository, owner: str, sender: str) -> Repository:
    """A new owner; the old address redirects from now on."""
    forge.state.former_names[repository.full_name.lower()] = repository.id
    moved = repository.model_copy(update={"owner": owner, "updated_at": now()})
    _enter(forge, moved)
    changes = {"owner": {"from": {"user": simple_user(forge.view, repository.owner)}}}
    forge.announce(repository_event(forge.view, moved, "transferred", sender, changes=changes))
    return moved


def update_repository(forge: Forge, repository: Repository, sender: str, **changes: object) -> Repository:
    """New settings. Telling the hooks of what has an event of its own: archiving and visibility."""
    updated = repository.model_copy(update={**changes, "updated_at": now()})
    _enter(forge, updated)
    if updated.archived != repository.archived:
        action = "archived" if updated.archived else "unarchived"
        forge.announce(repository_event(forge.view, updated, action, sender))
    if updated.private != repository.private:
        action = "privatized" if updated.private else "publicized"
        forge.announce(repository_event(forge.view, updated, action, sender))
    return updated


def delete_repository(forge: Forge, repository: Repository, sender: str) -> None:
    """A repository goes, with all that hangs on it; the hooks are told last, and first forgotten afterwards."""
    forge.announce(repository_event(forge.view, repository, "deleted", sender))
    forge.state.forget_repository(repository)
    forge.git.delete(repository.id)


def _enter(forge: Forge, repository: Repository) -> None:
    forge.state.repositories[repository.id] = repository
    forge.state.former_names.pop(repository.full_name.lower(), None)
