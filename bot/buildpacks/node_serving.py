"""Which script of a package starts a server, and what that server is."""

import posixpath
import re
from dataclasses import dataclass, replace

from bot.buildpacks.buildpack import Role
from bot.buildpacks.frameworks import FRAMEWORKS, SERVERS, Framework
from bot.buildpacks.package_json import PackageJson
from bot.buildpacks.scripts import Command, unfold
from bot.buildpacks.words import words

SCRIPTS = words(
    "dev start:dev develop start serve server dev:server start:server watch site docs:dev docs:start docs:serve "
    "docs website storybook web"
)
"""Scripts that may start a server, most telling first."""

_RUNNERS = frozenset(
    words(
        "node nodemon ts-node ts-node-dev tsnd tsx bun deno babel-node vite-node esr swc-node node-dev supervisor pm2 "
        "pm2-dev pm2-runtime forever esno jiti"
    )
)
_RELOADING = frozenset(words("nodemon ts-node-dev tsnd node-dev supervisor pm2-dev"))
_SKIPPED = frozenset({"run", "watch", "start", "--"})
_EXTENSION = re.compile(r"\.(?:[cm]?[jt]sx?)$")
_LISTENS = re.compile(
    r"\.listen\s*\(|\bcreate(?:Secure)?Server\s*\(|\bserve\s*\(|Bun\.serve|Deno\.serve|toNodeListener"
)
_BUN_APP = re.compile(r"export\s+default\s+(?:app|server|\{[^}]{0,300}\bfetch\b)")
_SCRATCH = frozenset(words("example examples demo demos test tests sandbox scratch playground bench benchmark"))
_NEARBY = frozenset(words("index main server app www config env constants settings"))


@dataclass(frozen=True, slots=True)
class Serving:
    """A script that starts a server: a framework's dev server, or a file of the package that listens."""

    script: str
    command: Command
    framework: Framework | None
    entry: str | None = None
    library: tuple[str, str] | None = None
    """Kind and title of the server library that the file uses, when that is known."""
    alone: bool = True
    """Whether the script starts no second server beside this one."""

    @property
    def reloads(self) -> bool:
        """Whether changed sources are picked up without a restart."""
        if self.entry is None:
            return self.framework is None or self.framework.reloads
        flags = {"--watch", "--hot", "watch", "--watch-path"} & set(self.command.words)
        return self.command.tool in _RELOADING or bool(flags)

    @property
    def named(self) -> tuple[str, str]:
        """Kind, and what a person calls it."""
        if self.framework:
            return self.framework.kind, self.framework.title
        return self.library or ("node", "Node")

    @property
    def role(self) -> Role:
        """What a reviewer gets to see."""
        if self.framework is None:
            return Role.API
        return self.framework.role if self.entry is None else Role.SITE


def serving(package: PackageJson, dependencies: dict[str, str]) -> Serving | None:
    """The first script that serves. `dependencies` are the package's own and those of its workspace's top.

    Of several servers in one script (`concurrently "vite" "node api.js"`) the one that shows pages is taken.
    """
    found: list[Serving] = []
    for script in (name for name in SCRIPTS if name in package.scripts):
        commands = unfold(package.scripts, script)
        here = [hit for command in commands if (hit := _judge(package, dependencies, script, command))]
        alone = len(here) + sum(command.delegated is not None for command in commands) < 2
        found += [replace(hit, alone=alone) for hit in sorted(here, key=lambda hit: hit.framework is None)[:1]]
    # A component workshop gives way to a script that starts the app itself, whatever their order.
    return min(found, key=lambda hit: hit.role >= Role.COMPONENTS, default=None)


def _judge(package: PackageJson, dependencies: dict[str, str], script: str, command: Command) -> Serving | None:
    if command.delegated:
        return None
    framework = named(command, dependencies)
    if framework:
        return Serving(script, command, framework)
    if command.tool in _RUNNERS:
        return _entry(package, dependencies, script, command)
    return None


def named(command: Command, dependencies: dict[str, str]) -> Framework | None:
    """The framework whose dev server a command starts; one whose package is installed is preferred."""
    rows = [row for row in FRAMEWORKS if row.calls(command.words)]
    installed = [row for row in rows if any(name in dependencies for name in row.packages)]
    rows = [row for row in rows if not row.needs_package]
    own_name = [row for row in rows if any(command.tool == name.rpartition("/")[2] for name in row.packages)]
    return next(iter([*installed, *own_name, *(rows if len(rows) == 1 else [])]), None)


def _entry(package: PackageJson, dependencies: dict[str, str], script: str, command: Command) -> Serving | None:
    """A file that a script runs, if it is a server."""
    entry = _entry_file(package, command)
    if entry is None or (package.published and set(entry.split("/")[:-1]) & _SCRATCH):
        return None
    texts = nearby_texts(package, entry)
    library = next(((kind, title) for kind, title, name in SERVERS if name in dependencies), None)
    own = package.folder.text(entry)
    framework = next((row for row in FRAMEWORKS if _mentions(own, row) and set(row.packages) & set(dependencies)), None)
    bun_app = command.tool == "bun" and _BUN_APP.search(own)
    if not (library or framework or bun_app or any(map(_LISTENS.search, texts.values()))):
        return None
    return Serving(script, command, framework or _rendering(dependencies), entry, library)


def _mentions(text: str, row: Framework) -> bool:
    """Whether the file itself calls the framework, as in `next({ dev })` or `concurrently(["browser-sync …"])`."""
    return any(re.search(rf"""['"`]{re.escape(name)}(?:['"`]|\s|/)""", text) for name in row.packages)


def _rendering(dependencies: dict[str, str]) -> Framework | None:
    """A framework that renders pages inside the app's own server."""
    kinds = {"nextjs", "react-router", "remix"}
    return next((row for row in FRAMEWORKS if row.kind in kinds and row.packages[0] in dependencies), None)


def _entry_file(package: PackageJson, command: Command) -> str | None:
    main = package.fields.get("main")
    plain = [word for word in command.words[1:] if not word.startswith("-") and word not in _SKIPPED]
    for word in plain or ([main] if isinstance(main, str) else ["index.js"]):
        path = posixpath.normpath(word)
        if path.startswith(("..", "/")):
            continue
        for name in (path, f"{path}.js", f"{path}.ts", f"{path}.mjs", f"{path}/index.js", f"{path}/index.ts"):
            if package.folder.has(name) and (_EXTENSION.search(name) or name == path) and not _is_folder(package, name):
                return posixpath.normpath(name)
        if _EXTENSION.search(path):
            return path
    return None


def _is_folder(package: PackageJson, name: str) -> bool:
    return package.folder.at(name) not in package.folder.tree.paths


def nearby_texts(package: PackageJson, entry: str) -> dict[str, str]:
    """The entry and the files near it in which a port is usually written, with their texts; the entry comes first."""
    near = [
        name
        for name in package.folder.files(depth=3)
        if _EXTENSION.search(name) and name.rpartition("/")[2].partition(".")[0].lower() in _NEARBY
        and not set(name.split("/")[:-1]) & (_SCRATCH | {"public", "client", "dist", "build", "frontend"})
    ][:24]  # fmt: skip
    package.folder.want(entry, *near)
    return {name: package.folder.text(name) for name in [entry, *near]}
