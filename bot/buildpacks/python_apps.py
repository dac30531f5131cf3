"""Where the app object of a Python project is, and which framework made it. Code is read as text only."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from bot.buildpacks.words import words
from bot.source import Folder

_CANONICAL = words(
    "main app server wsgi asgi run application api index web streamlit_app __main__ __init__ core views manage "
    "demo dashboard home"
)
"""Module names in which an app object is looked for first."""

_ASIDE = frozenset(
    words(
        "tests test docs doc examples example scripts tools migrations alembic benchmarks node_modules venv .venv env "
        "site-packages build dist notebooks"
    )
)
_MOST_FILES = 60
_MOST_BESIDE = 3

_CLASSES = {
    "FastAPI": "fastapi",
    "Flask": "flask",
    "APIFlask": "flask",
    "OpenAPI": "flask",
    "Quart": "quart",
    "Litestar": "litestar",
    "Starlette": "starlette",
    "FastHTML": "fasthtml",
    "fast_app": "fasthtml",
    "Sanic": "sanic",
    "Robyn": "robyn",
    "BlackSheep": "blacksheep",
    "Dash": "dash",
    "JupyterDash": "dash",
    "Bottle": "bottle",
    "Chalice": "chalice",
    "Falcon": "falcon",
}
_MODULES = {"falcon": r"falcon\.(?:asgi\.)?(?:App|API)\(", "pyramid": r"\bConfigurator\("}
_OBJECT = re.compile(
    r"^(?P<indent>[ \t]*)(?P<name>[A-Za-z_]\w*)(?:\s*,\s*\w+)*\s*(?::[^=\n]+)?=\s*(?:\w+\.)*(?P<made>"
    + "|".join(_CLASSES)
    + r")\s*\(",
    re.MULTILINE,
)
_RETURNED = re.compile(r"\breturn\s+(?:\w+\.)*(?P<made>" + "|".join(_CLASSES) + r")\s*\(")
_FACTORY = re.compile(
    r"^(?:async )?def (?P<name>create_app|make_app|build_app|get_app|get_application|create_application|app_factory)\(",
    re.MULTILINE,
)
_MADE_BY_FACTORY = re.compile(
    r"^(?P<name>app|application|api)\s*(?::[^=\n]+)?=\s*(?:\w+\.)*(?:create|make|build|get|init)_\w+\(", re.MULTILINE
)
_IMPORTED = re.compile(r"^from\s+\S+\s+import\s+[^\n]*\b(?P<name>app|application)\b", re.MULTILINE)
_MAIN = re.compile(r"""^if __name__ == ['"]__main__['"]""", re.MULTILINE)

RUN_AS_FILE: Mapping[str, tuple[re.Pattern[str], str]] = {
    "streamlit": (re.compile(r"^[ \t]*import streamlit|^[ \t]*from streamlit", re.M), "streamlit"),
    "gradio": (re.compile(r"\.launch\s*\("), "gradio"),
    "nicegui": (re.compile(r"\bui\.run\s*\("), "nicegui"),
    "chainlit": (re.compile(r"^[ \t]*import chainlit|^[ \t]*from chainlit", re.M), "chainlit"),
    "reflex": (re.compile(r"\brx\.App\s*\(|reflex\.App\s*\("), "reflex"),
    "panel": (re.compile(r"\.servable\s*\(|\bpn\.serve\s*\("), "panel"),
    "shiny": (re.compile(r"^[ \t]*(?:from shiny|import shiny)", re.M), "shiny"),
    "marimo": (re.compile(r"\bmarimo\.App\s*\("), "marimo"),
    "mesop": (re.compile(r"@me\.page\s*\("), "mesop"),
    "flet": (re.compile(r"\bft\.app\s*\(|\bflet\.app\s*\("), "flet"),
    "taipy": (re.compile(r"\bGui\s*\([^)]{0,300}\)\s*\.run\s*\("), "taipy"),
    "bokeh": (re.compile(r"\bcurdoc\s*\("), "bokeh"),
    "aiohttp": (re.compile(r"\bweb\.run_app\s*\("), "aiohttp"),
    "tornado": (re.compile(r"tornado\.web\.Application|\bWebSocketHandler\b|\bRequestHandler\b"), "tornado"),
    "bottle": (re.compile(r"^[ \t]*(?:bottle\.)?run\s*\([^)]{0,300}(?:host|port)", re.M), "bottle"),
    "pyramid": (re.compile(r"\bmake_wsgi_app\s*\("), "pyramid"),
    "cherrypy": (re.compile(r"\bcherrypy\.quickstart\s*\("), "cherrypy"),
    "web.py": (re.compile(r"\bweb\.application\s*\("), "web.py"),
    "python": (re.compile(r"\b(?:\w*HTTPServer|TCPServer|make_server|serve_forever)\s*\("), ""),
}  # fmt: skip
"""Kinds that are started by running or naming a file: what its text shows, and what must be imported."""


@dataclass(frozen=True, slots=True)
class App:
    """An app object, or a file that is the app. `name` is empty for a file; `factory` when calling it makes the app."""

    kind: str
    file: str
    name: str = ""
    factory: bool = False
    text: str = ""

    @property
    def module(self) -> str:
        """The dotted module; a leading `src/` is dropped, as that is the import root."""
        path = self.file.removeprefix("src/").removesuffix(".py")
        return path.removesuffix("/__init__").replace("/", ".")

    @property
    def runs_itself(self) -> bool:
        """Whether running the file starts the server."""
        return bool(_MAIN.search(self.text)) or "serve()" in self.text


def sources(folder: Folder) -> list[str]:
    """The Python files worth searching, most telling names and shallowest first, at most 60."""
    files = [
        name
        for name in folder.files(depth=4)
        if name.endswith(".py")
        and not set(name.split("/")[:-1]) & _ASIDE
        and not name.rpartition("/")[2].startswith("test_")
    ]  # fmt: skip
    return sorted(files, key=_interest)[:_MOST_FILES]


def _interest(name: str) -> tuple[int, int, str]:
    stem = name.rpartition("/")[2].removesuffix(".py").lower()
    return (name.count("/"), _CANONICAL.index(stem) if stem in _CANONICAL else len(_CANONICAL), name)


def apps(folder: Folder) -> list[App]:
    """Every app that the folder's code shows, most telling first."""
    names = sources(folder)
    folder.want(*names)
    found = [app for name in names for app in _of_text(name, folder.text(name))]
    return sorted(found, key=lambda app: (app.factory, _rank(app)))


def is_bag(found: list[App]) -> bool:
    """Whether these are scripts beside each other, each an app of its own, none of them called like the main one."""
    beside = [app for app in found if "/" not in app.file]
    return len(beside) > _MOST_BESIDE and all(_rank(app) for app in beside)


def _rank(app: App) -> int:
    return 1 if app.file.rpartition("/")[2].removesuffix(".py") not in _CANONICAL else 0


def _of_text(file: str, text: str) -> Iterator[App]:
    made = [found for found in _OBJECT.finditer(text) if not found["indent"]]
    for found in made[:1]:
        yield App(_CLASSES[found["made"]], file, found["name"], text=text)
    if made:
        return
    inside = _OBJECT.search(text) or _RETURNED.search(text)
    factory = _FACTORY.search(text)
    if inside and factory:
        yield App(_CLASSES[inside["made"]], file, factory["name"], factory=True, text=text)
        return
    for kind, (pattern, imported) in RUN_AS_FILE.items():
        if (
            imported in text
            and pattern.search(text)
            and (
                not imported
                or re.search(rf"^[ \t]*(?:from|import)\s+{re.escape(imported.partition('.')[0])}", text, re.M)
            )
        ):
            yield App(kind, file, text=text)
            return
    ready = _MADE_BY_FACTORY.search(text) or _IMPORTED.search(text)
    if ready and not inside:
        yield App("", file, ready["name"], text=text)
