"""A repository's own configuration, laid over what detection found."""

from typing import Any

from bot.plan import LaunchPlan, Note
from bot.repo_config import CONFIG_FILE, RepoConfig

_DEFAULT_PORT = 3000


def without_detection(config: RepoConfig) -> LaunchPlan:
    """The plan of a repository in which nothing was found, but which says itself how it starts."""
    root = config.root or "."
    return LaunchPlan(
        kind="configured",
        title="Its own command",
        root=root,
        install_root=root,
        start=config.start or (),
        port=config.port or _DEFAULT_PORT,
        reloads=False,
    )


def lay_over(plan: LaunchPlan, config: RepoConfig) -> LaunchPlan:
    """The plan with every configured field in place of the detected one. Environment and runtime are merged by name."""
    changes: dict[str, Any] = {}
    if config.install is not None:
        changes |= {"prepare": (), "install": config.install or None, "install_relaxed": None}
    if config.build is not None:
        changes["build"] = config.build or None
    changes |= {key: value for key in ("setup", "start", "port") if (value := getattr(config, key)) is not None}
    if config.env:
        changes["env"] = plan.env | config.env
        changes["needs_env"] = tuple(name for name in plan.needs_env if name not in config.env)
    if config.runtime:
        changes["runtime"] = plan.runtime | config.runtime
    health = {key: value for key, value in config.health.model_dump().items() if value is not None}
    if health:
        changes["readiness"] = plan.readiness.model_copy(update=health)
    named = [*(["root"] if config.root else []), *changes]
    if not named:
        return plan
    note = Note(text=f"{', '.join(named)} by the repository's own configuration", file=CONFIG_FILE)
    return plan.model_copy(update=changes | {"notes": (*plan.notes, note)})
