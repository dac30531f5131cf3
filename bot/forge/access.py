"""Who may do what: a route states its need, and these pure functions hold a caller against it.

For a person the role in the repository counts; for an installation the token's permissions and its repositories.
https://docs.github.com/en/rest/authentication/permissions-required-for-github-apps
"""

from dataclasses import dataclass

from bot.forge.callers import Caller
from bot.forge.errors import Forbidden, NotFound, Unauthorized
from bot.forge.records import Repository, Role
from bot.forge.state import State

LEVELS = ("read", "write", "admin")


@dataclass(frozen=True, slots=True)
class Need:
    """What a route asks for: any one of `permissions` at `level` of an installation, `role` of a person."""

    permissions: tuple[str, ...]
    level: str = "read"
    role: Role = Role.READ

    @property
    def writes(self) -> bool:
        """Whether this changes something."""
        return self.level != "read"


METADATA_READ = Need(("metadata",))
CONTENTS_READ = Need(("contents",))
CONTENTS_WRITE = Need(("contents",), "write", Role.WRITE)
PULLS_READ = Need(("pull_requests",))
PULLS_WRITE = Need(("pull_requests",), "write")
ISSUES_READ = Need(("issues", "pull_requests"))
COMMENT = Need(("issues", "pull_requests"), "write")
LABEL = Need(("issues", "pull_requests"), "write", Role.TRIAGE)
DEPLOYMENTS_READ = Need(("deployments",))
DEPLOY = Need(("deployments",), "write", Role.WRITE)
CHECKS_READ = Need(("checks",))
CHECK = Need(("checks",), "write", Role.WRITE)
STATUSES_READ = Need(("statuses",))
SET_STATUS = Need(("statuses",), "write", Role.WRITE)
HOOKS = Need(("repository_hooks",), "write", Role.ADMIN)
ADMINISTER = Need(("administration",), "write", Role.ADMIN)


def role_of(login: str | None, repository: Repository) -> Role:
    """A person's role: owners are admins, everybody reads what is public."""
    if login and login.lower() == repository.owner.lower():
        return Role.ADMIN
    granted = repository.roles.get(login.lower(), Role.NONE) if login else Role.NONE
    return granted if repository.private or granted.covers(Role.READ) else Role.READ


def reaches(state: State, caller: Caller, repository: Repository) -> bool:
    """Whether an installation's token extends to a repository."""
    if caller.installation is None or caller.token is None:
        return False
    chosen = caller.token.repository_ids
    return repository in state.repositories_of(caller.installation) and (chosen is None or repository.id in chosen)


def allows(permissions: dict[str, str], need: Need) -> bool:
    """Whether granted permissions satisfy a need. Reading metadata is always granted."""
    granted = {"metadata": "read", **permissions}
    wanted = LEVELS.index(need.level)
    return any(name in granted and LEVELS.index(granted[name]) >= wanted for name in need.permissions)


def demand(state: State, caller: Caller, repository: Repository, need: Need) -> None:
    """Raises NotFound for what the caller may not know of, Unauthorized or Forbidden for what it may not do."""
    if caller.installation is None:
        _demand_role(caller, repository, need)
        return
    reached = reaches(state, caller, repository)
    if repository.private and not reached:
        raise NotFound
    public_read = not repository.private and not need.writes
    if not public_read and not (reached and allows(caller.token.permissions if caller.token else {}, need)):
        accepted = {"X-Accepted-GitHub-Permissions": "; ".join(f"{name}={need.level}" for name in need.permissions)}
        raise Forbidden("Resource not accessible by integration", headers=accepted)


def _demand_role(caller: Caller, repository: Repository, need: Need) -> None:
    role = role_of(caller.login, repository)
    if not role.covers(Role.READ):
        raise NotFound
    if caller.anonymous and need.writes:
        raise Unauthorized("Requires authentication")
    if not role.covers(need.role):
        message = "Must have admin rights to Repository." if role is Role.READ else "Resource not accessible"
        raise Forbidden(message)
