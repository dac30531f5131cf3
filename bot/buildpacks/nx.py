"""Nx: apps whose `serve` or `dev` target stands in project.json, not in a package.json script."""

from dataclasses import dataclass
from typing import Any

from bot.buildpacks import environment, managers, runtimes
from bot.buildpacks.buildpack import Finding, Role
from bot.buildpacks.frameworks import FRAMEWORKS, Framework
from bot.buildpacks.package_json import PackageJson
from bot.buildpacks.ports import as_port
from bot.plan import LaunchPlan, Note, Readiness
from bot.source import Folder

_EXECUTORS = (
    ("angular", "angular", 4200),
    ("next", "nextjs", 3000),
    ("vite", "vite", 4200),
    ("rspack", "webpack", 4200),
    ("webpack", "webpack", 4200),
    ("react", "webpack", 4200),
    ("storybook", "storybook", 4400),
    ("js:node", "node", 3000),
    ("node", "node", 3000),
    ("expo", "expo", 8081),
)
"""A word in the executor's name, the kind, and Nx's own default port."""
_MOST_PROJECTS = 40


@dataclass(frozen=True, slots=True)
class _Served:
    """A project with a target that serves it."""

    row: Framework | None
    file: str
    target: str
    project: str
    port: int


def find(folder: Folder) -> Finding | None:
    """The plan of the first app of an Nx workspace that shows pages, else of the first that serves."""
    package = PackageJson.of(folder)
    if package is None or not folder.has("nx.json"):
        return None
    names = [name for name in folder.files(depth=4) if name.endswith("/project.json") and "e2e" not in name][
        :_MOST_PROJECTS
    ]
    folder.want(*names)
    served = [hit for name in names if (hit := _target(folder, name))]
    if not served:
        return None
    return _finding(package, min(served, key=lambda hit: (hit.row.role if hit.row else Role.API, hit.file)))


def _target(folder: Folder, file: str) -> _Served | None:
    """The target of a project that can be served."""
    data = folder.json(file) or {}
    targets = data.get("targets")
    if not isinstance(targets, dict) or data.get("projectType") == "library":
        return None
    project = data.get("name") if isinstance(data.get("name"), str) else file.split("/")[-2]
    for target in ("serve", "dev"):
        entry = targets.get(target)
        executor = str(entry.get("executor", "")) if isinstance(entry, dict) else ""
        for word, kind, default in _EXECUTORS:
            if word in executor:
                row = next((row for row in FRAMEWORKS if row.kind == kind), None)
                return _Served(row, file, target, str(project), _port(entry) or default)
    return None


def _port(entry: Any) -> int | None:
    options = entry.get("options") if isinstance(entry, dict) else None
    return as_port(str(options.get("port"))) if isinstance(options, dict) else None


def _finding(package: PackageJson, served: _Served) -> Finding:
    folder, row = package.folder, served.row
    manager = managers.choose(package)
    node, note = runtimes.of_node(package, None)
    plan = LaunchPlan(
        kind=row.kind if row else "node",
        title=f"{row.title if row else 'Node'} with Nx and {manager.name}",
        root=folder.path,
        install_root=manager.root,
        package_manager=manager.name,
        install=manager.install(),
        install_relaxed=manager.relaxed() if manager.lockfile else None,
        start=manager.execute("nx", served.target, served.project),
        port=served.port,
        env={"NX_DAEMON": "false", "NX_TUI": "false"},
        needs_env=environment.needed(folder),
        runtime={"node": node},
        install_inputs=tuple(
            folder.at(file) for file in ("package.json", manager.lockfile) if file and folder.has(file)
        ),
        restart_inputs=(folder.at("nx.json"), folder.at(served.file)),
        readiness=Readiness(failure_signs=row.failure_signs if row else {}),
        notes=tuple(
            hit
            for hit in (
                Note(text=f"start: target {served.target} of {served.project}", file=folder.at(served.file)),
                manager.note,
                note,
            )
            if hit
        ),
    )
    return Finding(plan, row.role if row else Role.API)
