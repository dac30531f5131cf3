"""Go: a main package that listens."""

import re

from bot.buildpacks import environment, runtimes
from bot.buildpacks.buildpack import Finding, Refusal, Role
from bot.buildpacks.ports import as_port
from bot.plan import LaunchPlan, Note
from bot.source import Folder

_LISTENS = re.compile(r"ListenAndServe|\.Run\(|\.Listen\(|net\.Listen|\.Start\(|http\.Serve|\.ListenAndServeTLS")
_PORTS = tuple(
    re.compile(pattern)
    for pattern in (
        r'\bport\s*:?=\s*"?:?(\d{2,5})"?',
        r'(?:ListenAndServe|Run|Listen|Start)\w*\(\s*(?:"tcp"\s*,\s*)?"[^"]{0,80}:(\d{2,5})"',
        r'Addr:\s*"[^"]{0,80}:(\d{2,5})"',
        r'"(?:PORT|port)"\s*,\s*"?:?(\d{2,5})"?',
        r'"[\w.]*:(\d{4,5})"',
    )
)
_ASIDE = frozenset({"examples", "example", "_examples", "testdata", "vendor", "tools", "scripts"})
_SERVERS = frozenset({"server", "web", "api", "http", "app", "site"})
_FRAMEWORKS = (("gin-gonic/gin", "Gin"), ("labstack/echo", "Echo"), ("gofiber/fiber", "Fiber"), ("go-chi/chi", "chi"))


def find(folder: Folder) -> Finding | Refusal | None:
    """The plan of a Go server; a command that only prints is refused."""
    if not folder.has("go.mod") and not folder.has("main.go"):
        return None
    mains = [
        name
        for name in folder.files(depth=3)
        if name.endswith(".go") and not name.endswith("_test.go") and not set(name.split("/")) & _ASIDE
    ][:40]
    folder.want("go.mod", *mains)
    serving = [name for name in mains if _LISTENS.search(folder.text(name))]
    packages = [place for place in dict.fromkeys(map(_package, mains)) if _is_main(folder, mains, place)]
    package = min(packages, key=lambda place: _likelihood(place, serving), default=None)
    if package is None or not serving:
        file = folder.at("go.mod" if folder.has("go.mod") else "main.go")
        return Refusal("the Go code starts no server", file, 'Name the command: start = "…" and port = ….')
    return _finding(folder, package, serving)


def _package(name: str) -> str:
    return f"./{name.rpartition('/')[0]}" if "/" in name else "."


def _likelihood(place: str, serving: list[str]) -> tuple[bool, bool, int]:
    """Sorts first the program that listens itself, then one that is called like a server."""
    itself = any(_package(name) == place for name in serving)
    return (not itself, place.rpartition("/")[2] not in _SERVERS, place.count("/"))


def _is_main(folder: Folder, mains: list[str], place: str) -> bool:
    return any(_package(name) == place and re.search(r"^package main\b", folder.text(name), re.M) for name in mains)


def _port(folder: Folder, serving: list[str]) -> int | None:
    for name in serving:
        for pattern in _PORTS:
            if (found := pattern.search(folder.text(name))) and (port := as_port(found.group(1))):
                return port
    return None


def _finding(folder: Folder, package: str, serving: list[str]) -> Finding:
    module = folder.text("go.mod")
    title = next((title for name, title in _FRAMEWORKS if name in module), "Go")
    asked = re.search(r"^go (\d+\.\d+)", module, re.MULTILINE)
    pin = runtimes.pinned("go", folder)
    port = _port(folder, serving)
    plan = LaunchPlan(
        kind="go",
        title=title if title == "Go" else f"{title} (Go)",
        root=folder.path,
        install_root=folder.path,
        package_manager="go" if module else None,
        install=("go", "mod", "download") if module else None,
        start=("go", "run", package),
        port=port or 8080,
        needs_env=environment.needed(folder),
        runtime={"go": asked.group(1) if asked else pin[0] if pin else "*"},
        install_inputs=tuple(folder.at(name) for name in ("go.mod", "go.sum") if folder.has(name)),
        reloads=False,
        notes=(
            Note(text=f"{title}: this file listens", file=folder.at(serving[0])),
            Note(text=f"port {port}", file=folder.at(serving[0])) if port else Note(text="port 8080, through PORT"),
        ),
    )
    return Finding(plan, Role.API, toolchain=False)
