"""Which version of a language a repository asks for. First hit wins: mise or asdf, the language's own version file,
Volta, `engines`, what the framework needs, the Dockerfile's base image; `*` when nobody says.
"""

import re
from collections.abc import Iterator

from bot.buildpacks.buildpack import noted
from bot.buildpacks.package_json import PackageJson
from bot.plan import Note
from bot.source import Folder

_OWN_FILES = {
    "node": (".nvmrc", ".node-version"),
    "python": (".python-version", "runtime.txt"),
    "ruby": (".ruby-version",),
    "go": (".go-version",),
    "java": (".java-version",),
    "deno": (".deno-version", ".dvmrc"),
    "php": (".php-version",),
}
_IMAGES = {"java": r"(?:eclipse-temurin|openjdk|maven)", "go": "golang", "dotnet": r"\S*dotnet/\w+", "rust": "rust"}
_ALIASES = {"node": r"node(?:js)?", "go": r"go(?:lang)?"}


def pinned(tool: str, folder: Folder) -> tuple[str, Note] | None:
    """A version that a file of the folder, or of one around it, pins for a tool."""
    for around in folder.upwards():
        for name, version in _pins(tool, around):
            # `lts/*`, `system` and `stable` name no version.
            number = re.search(r"\d+(?:\.\d+)*", version)
            if number:
                return number.group(), Note(text=f"{tool} {number.group()}", file=around.at(name))
    return None


def _pins(tool: str, folder: Folder) -> Iterator[tuple[str, str]]:
    for name in ("mise.toml", ".mise.toml"):
        tools = (folder.toml(name) or {}).get("tools")
        value = tools.get(tool) if isinstance(tools, dict) else None
        value = value.get("version") if isinstance(value, dict) else value
        if isinstance(value, str | int | float):
            yield name, str(value)
    found = re.search(rf"^{_ALIASES.get(tool, tool)}\s+(\S+)", folder.text(".tool-versions"), re.MULTILINE)
    if found:
        yield ".tool-versions", found.group(1)
    for name in _OWN_FILES.get(tool, ()):
        text = folder.text(name).strip()
        if text and (name != "runtime.txt" or text.startswith(tool)):
            yield name, text.splitlines()[0].rpartition("-")[2] if "-" in text else text.splitlines()[0]


def of_image(tool: str, folder: Folder) -> tuple[str, Note] | None:
    """The version in a Dockerfile's `FROM`."""
    image = _IMAGES.get(tool, tool)
    found = re.search(rf"^FROM\s+(?:\S+/)?{image}:(\d+(?:\.\d+)?)", folder.text("Dockerfile"), re.MULTILINE | re.I)
    return (found.group(1), Note(text=f"{tool} {found.group(1)}", file=folder.at("Dockerfile"))) if found else None


def of_node(package: PackageJson, floor: str | None) -> tuple[str, Note | None]:
    """The Node version or range of a package. A pin that its own `engines` rules out is stale and does not count."""
    file = package.folder.at("package.json")
    engines = package.engines.get("node", "")
    asked = engines if re.search(r"\d", engines) else ""
    pin = pinned("node", package.folder)
    if pin and not _too_old(pin[0], asked or floor or ""):
        return pin
    if volta := package.volta.get("node"):
        return volta, noted(f"Node {volta} is pinned by Volta", package.folder, "package.json", at='"volta"')
    if asked and not (floor and _lowest(asked) < _lowest(floor)):
        return asked, noted(f"Node {asked} by engines", package.folder, "package.json", at='"engines"')
    if floor:
        return floor, Note(text=f"Node {floor}, which the framework needs", file=file)
    return of_image("node", package.folder) or ("*", None)


def _lowest(requirement: str) -> tuple[int, ...]:
    """The smallest version that a range speaks of."""
    versions = [tuple(map(int, text.split("."))) for text in re.findall(r"\d{1,9}(?:\.\d{1,9}){0,2}", requirement)]
    return min(versions, default=())


def _too_old(pin: str, requirement: str) -> bool:
    return (
        bool(requirement)
        and tuple(int(part) for part in pin.split(".")[:2] if len(part) < 10)[:1] < _lowest(requirement)[:1]
    )
