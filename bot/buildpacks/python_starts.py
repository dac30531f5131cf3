"""How each Python framework's development server is called, and where it listens."""

import re
from dataclasses import dataclass, field

from bot.buildpacks.ports import as_port
from bot.buildpacks.python_apps import App
from bot.buildpacks.python_installs import Installation
from bot.plan import Argv

PYTHON = ".venv/bin/python"
_MIGRATE: tuple[Argv, ...] = ((PYTHON, "manage.py", "migrate", "--noinput"),)
_DJANGO_SIGNS = {
    "DisallowedHost at": "Add the preview's host to ALLOWED_HOSTS, or set ALLOWED_HOSTS = [] while DEBUG is on."
}
_PORT_IN_CODE = tuple(
    re.compile(pattern)
    for pattern in (
        r"""(?:environ\.get|getenv)\(\s*['"]PORT['"]\s*,\s*['"]?(\d{2,5})""",
        r"""\b(?:server_port|port)\s*=\s*int\([^)\n]*?(\d{2,5})""",
        r"""\b(?:server_port|port|PORT)\s*=\s*['"]?(\d{2,5})\b""",
        r"""\.listen\(\s*(\d{2,5})\b""",
        r"""\(\s*\(?\s*['"][\w.]*['"]\s*,\s*(\d{2,5})\s*\)""",
    )
)

_TITLES = {
    "fastapi": ("FastAPI", 8000),
    "starlette": ("Starlette", 8000),
    "fasthtml": ("FastHTML", 8000),
    "litestar": ("Litestar", 8000),
    "blacksheep": ("BlackSheep", 8000),
    "falcon": ("Falcon", 8000),
    "flask": ("Flask", 5000),
    "quart": ("Quart", 5000),
    "sanic": ("Sanic", 8000),
    "dash": ("Dash", 8050),
    "bottle": ("Bottle", 8080),
    "streamlit": ("Streamlit", 8501),
    "gradio": ("Gradio", 7860),
    "nicegui": ("NiceGUI", 8080),
    "chainlit": ("Chainlit", 8000),
    "reflex": ("Reflex", 3000),
    "panel": ("Panel", 5006),
    "shiny": ("Shiny for Python", 8000),
    "marimo": ("marimo", 2718),
    "mesop": ("Mesop", 32123),
    "flet": ("Flet", 8550),
    "taipy": ("Taipy", 5000),
    "bokeh": ("Bokeh", 5006),
    "aiohttp": ("aiohttp", 8080),
    "tornado": ("Tornado", 8888),
    "pyramid": ("Pyramid", 6543),
    "cherrypy": ("CherryPy", 8080),
    "web.py": ("web.py", 8080),
    "robyn": ("Robyn", 8080),
    "chalice": ("Chalice", 8000),
    "django": ("Django", 8000),
    "python": ("Python", 8000),
}
"""Kind to what a person calls it and the port on which it listens when nobody says otherwise."""

_FILE_COMMANDS: dict[str, tuple[str, ...]] = {
    "streamlit": ("-m", "streamlit", "run", "{file}", "--server.port", "{port}", "--server.headless", "true"),
    "chainlit": ("-m", "chainlit", "run", "{file}", "--port", "{port}", "--headless", "-w"),
    "reflex": ("-m", "reflex", "run", "--frontend-port", "{port}"),
    "panel": ("-m", "panel", "serve", "{file}", "--port", "{port}", "--dev"),
    "shiny": ("-m", "shiny", "run", "--reload", "--port", "{port}", "{file}"),
    "marimo": ("-m", "marimo", "run", "--headless", "--port", "{port}", "{file}"),
    "mesop": ("-m", "mesop", "{file}", "--port", "{port}"),
    "flet": ("-m", "flet", "run", "--web", "--port", "{port}", "{file}"),
    "bokeh": ("-m", "bokeh", "serve", "--port", "{port}", "{file}"),
}
_RELOADING = frozenset({"streamlit", "chainlit", "reflex", "panel", "shiny", "nicegui", "mesop", "dash"})


@dataclass(frozen=True, slots=True)
class Start:
    """A start command with what belongs to it."""

    kind: str
    title: str
    argv: Argv
    port: int
    port_in_code: bool = False
    reloads: bool = True
    health: str = "/"
    setup: tuple[Argv, ...] = ()
    env: dict[str, str] = field(default_factory=dict)
    failure_signs: dict[str, str] = field(default_factory=dict)


def start(app: App, installation: Installation | None, requirements: frozenset[str]) -> Start:
    """How the app is started in development."""
    if app.kind == "django":
        return Start("django", "Django", (PYTHON, "manage.py", "runserver", "8000"), 8000, setup=_MIGRATE,
                     failure_signs=_DJANGO_SIGNS)  # fmt: skip
    if app.kind == "litestar-command":
        argv: Argv = (f".venv/bin/{app.name}", "run", "--port", "8000", "--reload")
        return Start("litestar", "Litestar", argv, 8000)
    title, default = _TITLES.get(app.kind, ("Python", 8000))
    port = _port(app.text)
    begin = Start(app.kind, title, (), port or default, port_in_code=port is not None)
    if not app.name or app.kind in ("dash", "bottle", "robyn") or (app.kind == "fasthtml" and "serve()" in app.text):
        return _as_file(app, begin)
    if app.kind in ("flask", "quart"):
        return _flask(app, begin)
    return _asgi(app, begin, installation, requirements)


def _port(text: str) -> int | None:
    for pattern in _PORT_IN_CODE:
        if (found := pattern.search(text)) and (port := as_port(found.group(1))):
            return port
    return None


def _with(begin: Start, argv: Argv, **more: object) -> Start:
    fields: dict[str, object] = {name: getattr(begin, name) for name in Start.__slots__} | {"argv": argv} | more
    return Start(**fields)  # type: ignore[arg-type]


def _as_file(app: App, begin: Start) -> Start:
    template = _FILE_COMMANDS.get(app.kind)
    if template:
        words = tuple(word.format(file=app.file, port=begin.port) for word in template)
        return _with(begin, (PYTHON, *words), reloads=app.kind in _RELOADING)
    port = 5001 if app.kind == "fasthtml" and not begin.port_in_code else begin.port
    if app.file.endswith("/__main__.py"):
        return _with(begin, (PYTHON, "-m", app.module.removesuffix(".__main__")), reloads=False, port=port)
    env = {"GRADIO_SERVER_PORT": str(port)} if app.kind == "gradio" else {}
    reloads = app.kind in _RELOADING or "reload=True" in app.text or "debug=True" in app.text
    return _with(begin, (PYTHON, app.file), reloads=reloads, port=port, env=env)


def _flask(app: App, begin: Start) -> Start:
    """https://flask.palletsprojects.com/en/stable/cli/: `app`, `application` and the factories are found by name."""
    found_by_name = app.name in ("app", "application", "create_app", "make_app")
    target = app.module if found_by_name else f"{app.module}:{app.name}"
    env = {"PYTHONPATH": "src"} if app.file.startswith("src/") else {}
    words = ("-m", app.kind, "--app", target, "run", "--debug", "--port", str(begin.port))
    return _with(begin, (PYTHON, *words), env=env)


def _asgi(app: App, begin: Start, installation: Installation | None, requirements: frozenset[str]) -> Start:
    target = f"{app.module}:{app.name}"
    env = {"PYTHONPATH": "src"} if app.file.startswith("src/") else {}
    served = {"uvicorn", "fastapi-cli", "litestar", "python-fasthtml"} & requirements
    setup = (installation.more("uvicorn"),) if installation and not served else ()
    factory = ("--factory",) if app.factory else ()
    words: Argv
    if app.kind == "sanic":
        words = ("-m", "sanic", target, "--dev", "--port", str(begin.port))
        return _with(begin, (PYTHON, *words), env=env)
    words = ("-m", "uvicorn", target, *factory, "--reload", "--port", str(begin.port))
    return _with(begin, (PYTHON, *words), env=env, setup=setup)
