"""Python: Django by its manage.py, other frameworks by their app object, the rest by a Procfile's web process."""

import re
from dataclasses import replace

from bot.buildpacks import environment, python_installs, runtimes
from bot.buildpacks.buildpack import Finding, Refusal, Role, noted
from bot.buildpacks.python_apps import App, apps, is_bag
from bot.buildpacks.python_installs import Installation, requirement_names
from bot.buildpacks.python_starts import Start, start
from bot.buildpacks.words import words
from bot.plan import LaunchPlan, Note, Readiness
from bot.source import Folder

MANIFESTS = words(
    "pyproject.toml requirements.txt Pipfile setup.py setup.cfg uv.lock poetry.lock requirements/base.txt "
    "environment.yml requirements-dev.txt manage.py"
)
_API = frozenset({"fastapi", "starlette", "litestar", "falcon", "sanic", "aiohttp", "robyn", "chalice", "blacksheep"})
_PAGES = ("next", "nuxt", "@sveltejs/kit", "astro", "@remix-run/dev", "@react-router/dev")


def find(folder: Folder) -> Finding | Refusal | None:
    """The plan of a Python app, or why there is none."""
    files = folder.files()
    if not folder.first(*MANIFESTS) and not any(name.endswith(".py") for name in files):
        return None
    if folder.has("manage.py") and "django" in folder.text("manage.py"):
        return _finding(folder, App("django", "manage.py"))
    app = _app(folder)
    if app is None:
        return _refuse(folder)
    if app.kind in _API and _renders_elsewhere(folder):
        return None
    return _finding(folder, app)


def _app(folder: Folder) -> App | None:
    names = requirement_names(folder)
    named = _in_procfile(folder, names)
    if named:
        return named
    found = [replace(app, kind=app.kind or _installed_kind(names)) for app in apps(folder)]
    found = [app for app in found if app.kind]
    if is_bag(found):
        return None
    scripted = _in_project_scripts(folder, names)
    return found[0] if found else scripted


def _installed_kind(names: frozenset[str]) -> str:
    """The framework behind an app object that only a function of the project makes."""
    return next((kind for kind in ("fastapi", "flask", "litestar", "starlette", "quart", "sanic") if kind in names), "")


def _in_procfile(folder: Folder, names: frozenset[str]) -> App | None:
    """The app that a Procfile names: `gunicorn package:app`, `uvicorn main:app`, `python -m package`."""
    line = re.search(r"^web:\s*(.+)$", folder.text("Procfile"), re.MULTILINE)
    kind = _installed_kind(names)
    if line is None:
        return None
    module = re.search(r"python3?\s+-m\s+([A-Za-z_]\w*)\s*$", line.group(1))
    if module and folder.has(f"{module.group(1)}/__main__.py"):
        file = f"{module.group(1)}/__main__.py"
        return App("aiohttp" if "aiohttp" in names else kind or "python", file, text=folder.text(file))
    target = re.search(
        r"(?:gunicorn|uvicorn|hypercorn|daphne|granian)\b.*?\s([A-Za-z_][\w.]*):([A-Za-z_]\w*)(\(\))?", line.group(1)
    )
    if target and kind:
        file = target.group(1).replace(".", "/")
        real = next((name for name in (f"{file}.py", f"{file}/__init__.py") if folder.has(name)), None)
        return App(kind, real, target.group(2), bool(target.group(3)), folder.text(real)) if real else None
    return None


def _in_project_scripts(folder: Folder, names: frozenset[str]) -> App | None:
    """A command of the project that is its framework's own, such as Litestar's."""
    table = (folder.toml("pyproject.toml") or {}).get("project")
    scripts = table.get("scripts") if isinstance(table, dict) else None
    for name, target in scripts.items() if isinstance(scripts, dict) else ():
        path = f"{str(target).partition(':')[0].replace('.', '/')}.py"
        file = next((found for found in (path, f"src/{path}", f"src/py/{path}") if folder.has(found)), None)
        if file and "litestar" in names and "litestar" in folder.text(file):
            return App("litestar-command", file, str(name), text=folder.text(file))
    return None


def _renders_elsewhere(folder: Folder) -> bool:
    """Whether a package.json in the same folder has the pages, and this is only the API behind them."""
    manifest = folder.json("package.json") or {}
    dependencies = manifest.get("dependencies")
    return isinstance(dependencies, dict) and any(name in dependencies for name in _PAGES)


def _refuse(folder: Folder) -> Refusal | None:
    file = folder.first(*MANIFESTS)
    if file is None:
        return None
    remedy = 'Name the command in .github/preview.toml: start = "…" and port = ….'
    if folder.has("setup.py") or "build-system" in (folder.toml("pyproject.toml") or {}):
        reason = "this is a Python package, and no app object or server was found in it"
    else:
        reason = "no Python web app was found"
    return Refusal(reason, folder.at(file), remedy)


def _finding(folder: Folder, app: App) -> Finding:
    where, installation = _installation(folder)
    begin = start(app, installation, requirement_names(where))
    home = Folder(folder.tree, where.path)
    python, python_note = _runtime(where)
    plan = LaunchPlan(
        kind=begin.kind,
        title=f"{begin.title} with {installation.manager}" if installation else begin.title,
        root=folder.path,
        install_root=where.path,
        package_manager=installation.manager if installation else None,
        prepare=installation.prepare if installation else (),
        install=installation.install if installation else None,
        install_relaxed=installation.relaxed if installation else None,
        setup=(*environment.copy_example(folder, folder), *begin.setup),
        start=_from(folder, where, begin.argv) if installation else _plain(begin.argv),
        port=begin.port,
        env={**(installation.env if installation else {}), **begin.env},
        needs_env=environment.needed(folder, home, code=(app.text, *_settings(folder, app))),
        runtime={"python": python},
        install_inputs=installation.inputs if installation else (),
        restart_inputs=tuple(folder.at(name) for name in (".env", ".flaskenv") if folder.has(name)),
        reloads=begin.reloads,
        readiness=Readiness(path=begin.health, failure_signs=begin.failure_signs),
        notes=_notes(folder, app, begin, installation, python_note),
    )
    return Finding(plan, Role.API if begin.kind in _API else Role.SITE)


def _installation(folder: Folder) -> tuple[Folder, Installation | None]:
    """The nearest folder upwards that says how to install."""
    for around in folder.upwards():
        if found := python_installs.choose(around):
            return around, found
    return folder, None


def _from(folder: Folder, where: Folder, argv: tuple[str, ...]) -> tuple[str, ...]:
    """The command with the path to the environment, which is made where the manifest is."""
    if folder.path == where.path:
        return argv
    depth = folder.path.count("/") + 1 - (0 if where.path == "." else where.path.count("/") + 1)
    return tuple("../" * depth + word if word.startswith(".venv/") else word for word in argv)


def _plain(argv: tuple[str, ...]) -> tuple[str, ...]:
    return tuple("python3" if word == ".venv/bin/python" else word for word in argv)


def _runtime(folder: Folder) -> tuple[str, Note | None]:
    if pin := runtimes.pinned("python", folder):
        return pin
    table = (folder.toml("pyproject.toml") or {}).get("project")
    asked = table.get("requires-python") if isinstance(table, dict) else None
    if isinstance(asked, str) and asked:
        return asked, Note(text=f"Python {asked}", file=folder.at("pyproject.toml"))
    requires = (folder.toml("Pipfile") or {}).get("requires")
    version = requires.get("python_version") if isinstance(requires, dict) else None
    if isinstance(version, str):
        return version, Note(text=f"Python {version}", file=folder.at("Pipfile"))
    return runtimes.of_image("python", folder) or ("*", None)


def _settings(folder: Folder, app: App) -> list[str]:
    if app.kind != "django":
        return []
    module = re.search(r"DJANGO_SETTINGS_MODULE['\"]\s*,\s*['\"]([\w.]+)", folder.text("manage.py"))
    return [folder.text(f"{module.group(1).replace('.', '/')}.py")] if module else []


def _notes(
    folder: Folder, app: App, begin: Start, installation: Installation | None, python: Note | None
) -> tuple[Note, ...]:
    at = f"{app.name} = " if app.name and not app.factory else f"def {app.name}" if app.factory else ""
    notes = [noted(f"{begin.title}, found in the code", folder, app.file, at=at)]
    notes += [installation.note] if installation else []
    notes.append(
        noted(f"port {begin.port}", folder, app.file, at=str(begin.port))
        if begin.port_in_code
        else Note(text=f"port {begin.port}, the default of {begin.title}")
    )
    return (*notes, *([python] if python else []))
