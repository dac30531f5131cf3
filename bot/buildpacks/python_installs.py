"""How a Python project is installed: always into `.venv`, with the tool that the project itself uses.

First hit wins: uv.lock, poetry.lock, pdm.lock, Pipfile, a requirements file, pyproject.toml, setup.py. Poetry, PDM and
Pipenv are fetched by `uvx`; requirements are installed by uv, which reads what pip reads.
"""

import re
from dataclasses import dataclass

from bot.buildpacks.words import words
from bot.plan import Argv, Note
from bot.source import Folder

_VENV: Argv = ("uv", "venv", "--allow-existing", "--python=python3", ".venv")
# uv must neither download an interpreter nor refuse the one that is there because of a pin in .python-version.
_UV_ENV = {"UV_PYTHON_DOWNLOADS": "never"}

REQUIREMENTS = words(
    "requirements.txt requirements/development.txt requirements/dev.txt requirements/local.txt "
    "requirements-dev.txt dev-requirements.txt requirements/base.txt requirements/requirements.txt "
    "requirements.in app/requirements.txt src/requirements.txt"
)


@dataclass(frozen=True, slots=True)
class Installation:
    """The commands of one way to install, and the files that it depends on."""

    manager: str
    install: Argv | None
    prepare: tuple[Argv, ...]
    inputs: tuple[str, ...]
    env: dict[str, str]
    note: Note
    relaxed: Argv | None = None

    def more(self, *packages: str) -> Argv:
        """Install more packages into the environment."""
        return ("uv", "pip", "install", *packages)


def choose(folder: Folder) -> Installation | None:
    """How this folder is installed, or None when it has no manifest."""
    project = folder.toml("pyproject.toml") or {}
    tool = project.get("tool")
    tools = tool if isinstance(tool, dict) else {}
    for locked in (_uv, _poetry, _pdm, _pipenv):
        if found := locked(folder, tools):
            return found
    return _requirements(folder) or _project(folder, project)


def _uv(folder: Folder, tools: dict[str, object]) -> Installation | None:
    if folder.has("uv.lock"):
        inputs = ("pyproject.toml", "uv.lock")
        install: Argv = ("uv", "sync", "--locked", "--python=python3")
        relaxed: Argv | None = ("uv", "sync", "--python=python3")
        return Installation("uv", install, (), _at(folder, inputs), _UV_ENV, _note("uv", folder, "uv.lock"), relaxed)
    if "uv" in tools and not _requirements_file(folder):
        install = ("uv", "sync", "--python=python3")
        return Installation("uv", install, (), _at(folder, ("pyproject.toml",)), _UV_ENV,
                            _note("uv", folder, "pyproject.toml"))  # fmt: skip
    return None


def _poetry(folder: Folder, tools: dict[str, object]) -> Installation | None:
    if not (folder.has("poetry.lock") or "poetry" in tools):
        return None
    name = "poetry.lock" if folder.has("poetry.lock") else "pyproject.toml"
    env = {"POETRY_VIRTUALENVS_IN_PROJECT": "true", "POETRY_NO_INTERACTION": "1"}
    # --no-root: the folder is run from, not installed; many Poetry apps cannot be built as a package.
    install: Argv = ("uvx", "poetry", "install", *(() if _has_root(folder, tools) else ("--no-root",)))
    return Installation("poetry", install, (_VENV,), _at(folder, ("pyproject.toml", "poetry.lock")), env,
                        _note("poetry", folder, name))  # fmt: skip


def _has_root(folder: Folder, tools: dict[str, object]) -> bool:
    poetry = tools.get("poetry")
    table = poetry if isinstance(poetry, dict) else {}
    name = str(table.get("name", "")).replace("-", "_").lower()
    return "packages" in table or bool(name and (folder.has(name) or folder.has(f"src/{name}")))


def _pdm(folder: Folder, tools: dict[str, object]) -> Installation | None:
    if not (folder.has("pdm.lock") or "pdm" in tools):
        return None
    env = {"PDM_CHECK_UPDATE": "false"}
    # PDM 2.29 does not start with hishel 2, which its own requirement allows.
    install: Argv = ("uvx", "--with", "hishel<2", "pdm", "install")
    names = ("pdm.lock", "pyproject.toml")
    note = _note("pdm", folder, folder.first(*names) or names[1])
    return Installation("pdm", install, (_VENV,), _at(folder, names), env, note)


def _pipenv(folder: Folder, _tools: dict[str, object]) -> Installation | None:
    if not folder.has("Pipfile"):
        return None
    env = {"PIPENV_VENV_IN_PROJECT": "1", "PIPENV_YES": "1", "PIPENV_IGNORE_VIRTUALENVS": "1"}
    locked = folder.has("Pipfile.lock")
    install: Argv = ("uvx", "pipenv", "install", *(("--deploy",) if locked else ()))
    relaxed: Argv | None = ("uvx", "pipenv", "install") if locked else None
    inputs = _at(folder, ("Pipfile", "Pipfile.lock"))
    return Installation("pipenv", install, (_VENV,), inputs, env, _note("pipenv", folder, "Pipfile"), relaxed)


def _requirements(folder: Folder) -> Installation | None:
    name = _requirements_file(folder)
    return from_requirements(folder, name) if name else None


def from_requirements(folder: Folder, name: str) -> Installation:
    """The installation of one requirements file."""
    inputs = _at(folder, (name, *_included(folder, name)))
    install: Argv = ("uv", "pip", "install", "-r", name)
    return Installation("pip", install, (_VENV,), inputs, _UV_ENV, _note("pip", folder, name))


def from_packages(folder: Folder, packages: tuple[str, ...]) -> Installation:
    """The installation of packages that no manifest lists."""
    note = Note(text=f"{', '.join(packages)}: no requirements file lists them", file=None)
    return Installation("pip", ("uv", "pip", "install", *packages), (_VENV,), (), _UV_ENV, note)


def _requirements_file(folder: Folder) -> str | None:
    """The requirements to install: those for development when requirements.txt only points at production's."""
    name = folder.first(*REQUIREMENTS)
    if name != "requirements.txt":
        return name
    lines = [line for line in folder.text(name).splitlines() if line.strip() and not line.strip().startswith("#")]
    points_at_production = len(lines) == 1 and re.match(r"-r\s*\S*prod", lines[0])
    return (folder.first(*REQUIREMENTS[1:4]) if points_at_production else None) or name


def _included(folder: Folder, name: str) -> list[str]:
    base = name.rpartition("/")[0]
    found = re.findall(r"^(?:-r|--requirement)[ =](\S+)", folder.text(name), re.MULTILINE)
    return [f"{base}/{other}" if base else other for other in found]


def _project(folder: Folder, project: dict[str, object]) -> Installation | None:
    inputs = _at(folder, ("pyproject.toml", "setup.py", "setup.cfg"))
    if "project" in project and "build-system" not in project and not folder.has("setup.py"):
        install: Argv = ("uv", "pip", "install", "-r", "pyproject.toml")
        return Installation("pip", install, (_VENV,), inputs, _UV_ENV, _note("pip", folder, "pyproject.toml"))
    if folder.has("setup.py") or "build-system" in project:
        name = folder.first("pyproject.toml", "setup.py") or "setup.py"
        return Installation("pip", ("uv", "pip", "install", "-e", "."), (_VENV,), inputs, _UV_ENV,
                            _note("pip", folder, name))  # fmt: skip
    return None


def _at(folder: Folder, names: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(folder.at(name) for name in names if folder.has(name))


def _note(manager: str, folder: Folder, name: str) -> Note:
    return Note(text=f"installed with {manager}, because of {name.rpartition('/')[2]}", file=folder.at(name))


def requirement_names(folder: Folder) -> frozenset[str]:
    """The distributions that the folder's manifests ask for: lower-case names, without versions or extras."""
    project = folder.toml("pyproject.toml") or {}
    lines: list[str] = [*_listed(project)]
    for name in (*REQUIREMENTS, "requirements/production.txt"):
        lines += folder.text(name).splitlines()
    pipfile = folder.toml("Pipfile") or {}
    lines += [str(name) for name in _keys(pipfile.get("packages"))]
    lines += re.findall(r"""['"]([A-Za-z][\w.-]*)""", folder.text("setup.py"))
    names = (re.match(r"\s*([A-Za-z0-9][\w.-]*)", line) for line in lines)
    return frozenset(name.group(1).lower().replace("_", "-") for name in names if name)


def _listed(project: dict[str, object]) -> list[str]:
    table = project.get("project")
    listed = table.get("dependencies") if isinstance(table, dict) else None
    groups = project.get("dependency-groups")
    found = [item for item in listed if isinstance(item, str)] if isinstance(listed, list) else []
    for group in groups.values() if isinstance(groups, dict) else ():
        found += [item for item in group if isinstance(item, str)] if isinstance(group, list) else []
    tool = project.get("tool")
    poetry = tool.get("poetry") if isinstance(tool, dict) else None
    return [*found, *_keys(poetry.get("dependencies") if isinstance(poetry, dict) else None)]


def _keys(table: object) -> list[str]:
    return [str(key) for key in table] if isinstance(table, dict) else []
