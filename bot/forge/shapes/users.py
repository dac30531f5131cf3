"""Users as GitHub shows them."""

from bot.forge.records import Repository, Role, User
from bot.forge.shapes import Json, node_id, stamp
from bot.forge.state import State
from bot.forge.urls import USER_LINKS
from bot.forge.view import View


def simple_user(view: View, login: str) -> Json:
    """The short form; a user who is gone is shown as `ghost`, as on GitHub."""
    user = view.state.user(login)
    if user is None:
        user = User(id=10137, login="ghost", type="User", created_at=next(iter(view.state.users.values())).created_at)
    url = f"{view.urls.api}/users/{user.login.replace('[', '%5B').replace(']', '%5D')}"
    page = f"{view.urls.root}/apps/{user.login.removesuffix('[bot]')}" if user.type == "Bot" else None
    return {
        "login": user.login,
        "id": user.id,
        "node_id": node_id(user.type, user.id),
        "avatar_url": f"{view.urls.root}/avatars/{user.id}",
        "gravatar_id": "",
        "url": url,
        "html_url": page or f"{view.urls.root}/{user.login}",
        **{name: url + path for name, path in USER_LINKS.items()},
        "type": user.type,
        "user_view_type": "public",
        "site_admin": False,
    }


def public_user(view: View, user: User) -> Json:
    """The form of `GET /user` and `GET /users/{login}`."""
    owned = [repository for repository in view.state.repositories.values() if repository.owner == user.login]
    return {
        **simple_user(view, user.login),
        "name": user.login,
        "company": None,
        "blog": "",
        "location": None,
        "email": None,
        "hireable": None,
        "bio": None,
        "public_repos": sum(not repository.private for repository in owned),
        "public_gists": 0,
        "followers": 0,
        "following": 0,
        "created_at": stamp(user.created_at),
        "updated_at": stamp(user.created_at),
    }


def collaborator_permission(view: View, user: User, role: Role) -> Json:
    """A person's permission: the old four words in `permission`, the role's own name in `role_name`."""
    old_word = {Role.TRIAGE: "read", Role.MAINTAIN: "write"}.get(role, role.value)
    return {
        "permission": old_word,
        "role_name": role.value,
        "user": {**simple_user(view, user.login), "role_name": role.value, "permissions": role_flags(role)},
    }


def role_flags(role: Role) -> dict[str, bool]:
    """A role as GitHub's older set of flags."""
    return {
        "admin": role.covers(Role.ADMIN),
        "maintain": role.covers(Role.MAINTAIN),
        "push": role.covers(Role.WRITE),
        "triage": role.covers(Role.TRIAGE),
        "pull": role.covers(Role.READ),
    }


def association(state: State, login: str, repository: Repository) -> str:
    """The author's tie to a repository: OWNER, COLLABORATOR, or NONE."""
    if login.lower() == repository.owner.lower():
        return "OWNER"
    role = repository.roles.get(login.lower(), Role.NONE)
    return "COLLABORATOR" if role.covers(Role.WRITE) and state.user(login) else "NONE"
