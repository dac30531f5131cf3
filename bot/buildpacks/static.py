"""Static pages: an index.html and nothing that would build it."""

import re

from bot.buildpacks.buildpack import Finding, Role
from bot.buildpacks.words import words
from bot.plan import LaunchPlan, Note, Readiness
from bot.source import Folder

PORT = 8000
_PLACES = words(". public www site html src dist docs build _site static web")
_OF_LIBRARIES = 5
"""As many of these places are looked at in a package for others: its dist and docs folders are by-products."""

# A page that only becomes one when a bundler has filled it in.
_TEMPLATE = re.compile(
    r"""<app-root|%PUBLIC_URL%|src=["']/?(?:\./)?src/[^"']+\.[jt]sx?["']|<%=|\{\{|^---$""", re.MULTILINE
)


def find(folder: Folder) -> Finding | None:
    """Pages in the folder itself, in a usual folder for pages below it, or a lone HTML file."""
    places = _PLACES if folder.path == "." else _PLACES[:1]
    places = places[:_OF_LIBRARIES] if _is_library(folder) else places
    place = next((place for place in places if folder.has(f"{place}/index.html")), None)
    path = "/"
    if place is None:
        pages = [name for name in folder.files() if name.lower().endswith((".html", ".htm"))]
        if not pages:
            return None
        place, path = ".", f"/{pages[0]}"
    elif _TEMPLATE.search(folder.text(f"{place}/index.html")):
        return None
    root = folder.at(place)
    # --directory is left out: the server runs in the folder that it shows.
    plan = LaunchPlan(
        kind="static",
        title="Static pages",
        root=root,
        install_root=root,
        start=("python3", "-m", "http.server", str(PORT)),
        port=PORT,
        runtime={"python": "*"},
        readiness=Readiness(path=path),
        notes=(Note(text="static pages", file=folder.at(f"{place}/index.html" if path == "/" else path.strip("/"))),),
    )
    return Finding(plan, Role.SITE)


def _is_library(folder: Folder) -> bool:
    manifest = folder.json("package.json")
    return bool(folder.first("pyproject.toml", "setup.py", "go.mod", "Cargo.toml")) or (
        manifest is not None and manifest.get("private") is not True
    )
