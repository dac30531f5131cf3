"""Node: a package.json with a script that serves, or a framework that can be started without one."""

import re

from bot.buildpacks import environment, managers, node_client, node_port, runtimes
from bot.buildpacks.buildpack import Finding, Refusal, Role, noted
from bot.buildpacks.frameworks import FRAMEWORKS, Framework, major
from bot.buildpacks.managers import Manager
from bot.buildpacks.node_serving import SCRIPTS, Serving, nearby_texts, serving
from bot.buildpacks.package_json import PackageJson
from bot.buildpacks.scripts import Command, unfold
from bot.buildpacks.words import words
from bot.plan import LaunchPlan, Readiness
from bot.source import Folder

_BUNDLERS = frozenset(
    words(
        "webpack parcel rsbuild browser-sync live-server lite-server web-dev-server http-server serve json-server "
        "gulp grunt wrangler netlify serverless nitro ladle styleguidist expo"
    )
)
"""Tools that many packages install for other purposes: installed is not enough to start them."""

_ELSEWHERE = {
    "electron": "a desktop app (Electron)",
    "electron-forge": "a desktop app (Electron)",
    "electron-vite": "a desktop app (Electron)",
    "electronmon": "a desktop app (Electron)",
    "tauri": "a desktop app (Tauri)",
    "nw": "a desktop app (NW.js)",
    "expo": "a mobile app (Expo)",
    "react-native": "a mobile app (React Native)",
    "web-ext": "a browser extension",
    "plasmo": "a browser extension",
    "wxt": "a browser extension",
}


def find(folder: Folder) -> Finding | Refusal | None:
    """The plan of a package that can be served."""
    if not folder.has("package.json"):
        return None
    package = PackageJson.of(folder)
    if package is None:
        return Refusal("package.json cannot be read as JSON", folder.at("package.json"), "Repair package.json.")
    manager = managers.choose(package)
    home = Folder(folder.tree, manager.root)
    top = PackageJson.of(home)
    dependencies = {**(top.installed if top else {}), **package.installed}
    elsewhere = _elsewhere(package)
    found = None if elsewhere else serving(package, dependencies)
    if found is None and not elsewhere:
        found = _without_script(package)
    if found is None:
        return _refuse(package, elsewhere)
    plan, role = _plan(package, manager, dependencies, found), _role(package, found)
    for place in node_client.folders(package, found.script) if role is Role.API else ():
        client = find(place)
        if isinstance(client, Finding) and client.role is Role.SITE:
            return Finding(node_client.joined(plan, client, place), Role.SITE)
    return Finding(plan, role)


def _elsewhere(package: PackageJson) -> str | None:
    """What the package is, when its first script that starts anything opens a window or a phone."""
    for script in ("dev", "start"):
        for command in unfold(package.scripts, script) if script in package.scripts else ():
            web = "web" in package.scripts or "--web" in command.words
            if command.tool in _ELSEWHERE and not (command.tool == "expo" and web):
                return _ELSEWHERE[command.tool]
    if "vite-plugin-electron" in package.installed:
        return _ELSEWHERE["electron"]
    return "a VS Code extension" if "vscode" in package.engines else None


def _without_script(package: PackageJson) -> Serving | None:
    """A framework that is installed and configured although no script starts it."""
    if package.published:
        return None
    for row in FRAMEWORKS:
        own = row.packages[0] in package.installed and row.kind not in _BUNDLERS
        if own and package.folder.first(*_signs(row)):
            return Serving("", Command(tuple(row.commands[0].split())), row)
    return None


def _signs(row: Framework) -> tuple[str, ...]:
    if row.kind == "nextjs":
        return ("next.config.js", "next.config.mjs", "next.config.ts", "pages", "app", "src/app", "src/pages")
    if row.kind == "storybook":
        return (".storybook",)
    return ("index.html",) if row.kind == "vite" else (*row.config, "src", "index.html", "public")


def _refuse(package: PackageJson, elsewhere: str | None) -> Refusal:
    file = package.folder.at("package.json")
    if elsewhere:
        return Refusal(f"this is {elsewhere}, which has no page to open", file, final=True)
    points_at = _points_at(package)
    remedy = 'Name the command in .github/preview.toml (start = "…"), or add a "dev" script.'
    tried = [name for name in SCRIPTS if name in package.scripts]
    if package.published:
        scripts = f"; {_listed(tried)} starts no server" if tried else ", and no script starts a server"
        return Refusal(f"{package.name or 'this'} is a package for others to install{scripts}", file, remedy)
    if tried:
        return Refusal(f"the script {_listed(tried)} starts no server", file, remedy, points_at=points_at)
    return Refusal("no script in package.json starts a server", file, remedy)


def _points_at(package: PackageJson) -> tuple[str, ...]:
    """The packages that the first script which hands over names."""
    for script in SCRIPTS:
        named = [command.delegated for command in unfold(package.scripts, script) if script in package.scripts]
        if any(named):
            return tuple(name.strip("./") for name in named if name and name != "*")
    return ()


def _listed(names: list[str]) -> str:
    return ", ".join(f'"{name}"' for name in names)


def _role(package: PackageJson, found: Serving) -> Role:
    return Role.PART if found.framework is None and package.published else found.role


def _plan(package: PackageJson, manager: Manager, dependencies: dict[str, str], found: Serving) -> LaunchPlan:
    folder, home = package.folder, Folder(package.folder.tree, manager.root)
    port, port_note = node_port.of(package, found)
    version = major(dependencies.get(found.framework.packages[0], "")) if found.framework else None
    floor = found.framework.floors.get(version or 0) if found.framework else None
    node, node_note = runtimes.of_node(package, floor)
    code = tuple(nearby_texts(package, found.entry).values()) if found.entry else ()
    kind, name = found.named
    reason = f'start: the script "{found.script}"' if found.script else f"start: no script, but {name} is installed"
    started = noted(reason, folder, "package.json", at=f'"{found.script}":' if found.script else "")
    return LaunchPlan(
        kind=kind,
        title=f"{name}{f' {version}' if version else ''} with {manager.name}",
        root=folder.path,
        install_root=manager.root,
        package_manager=manager.name,
        install=manager.install(),
        install_relaxed=manager.relaxed() if manager.lockfile else None,
        setup=(*environment.copy_example(folder, folder), *_above(home, folder), *_prisma(package, manager)),
        build=_build(package, manager, found),
        start=manager.run(found.script) if found.script else manager.execute(*found.command.words),
        port=port,
        sets_port=found.alone,
        env=dict(found.framework.env) if found.framework else {},
        needs_env=environment.needed(folder, home, code=code),
        runtime={"node": node} | ({manager.name: manager.version or "*"} if manager.name == "bun" else {}),
        install_inputs=_install_inputs(package, manager, home),
        restart_inputs=_restart_inputs(folder, found),
        reloads=found.reloads,
        readiness=_readiness(folder, found, version),
        notes=tuple(note for note in (started, manager.note, port_note, node_note) if note),
    )


def _build(package: PackageJson, manager: Manager, found: Serving) -> tuple[str, ...] | None:
    """The build, when the script runs what only a build makes."""
    missing = found.entry is not None and not package.folder.has(found.entry)
    return manager.run("build") if missing and "build" in package.scripts else None


def _above(home: Folder, folder: Folder) -> tuple[tuple[str, ...], ...]:
    return environment.copy_example(home, folder) if home.path != folder.path else ()


def _prisma(package: PackageJson, manager: Manager) -> tuple[tuple[str, ...], ...]:
    """Prisma's client must be generated; its tables are made when the database is a file."""
    schema = package.folder.first("prisma/schema.prisma")
    if schema is None or not {"prisma", "@prisma/client"} & set(package.installed):
        return ()
    generate = manager.execute("prisma", "generate")
    if 'provider = "sqlite"' not in " ".join(package.folder.text(schema).split()):
        return (generate,)
    migrations = any(name.startswith("prisma/migrations/") for name in package.folder.files(depth=4))
    return (generate, manager.execute("prisma", *(("migrate", "deploy") if migrations else ("db", "push"))))


def _install_inputs(package: PackageJson, manager: Manager, home: Folder) -> tuple[str, ...]:
    names = [
        package.folder.at("package.json"),
        home.at("package.json"),
        home.at("pnpm-workspace.yaml"),
        home.at(".npmrc"),
    ]
    names += [home.at(manager.lockfile)] if manager.lockfile else []
    return tuple(dict.fromkeys(name for name in names if home.tree.has(name)))


def _restart_inputs(folder: Folder, found: Serving) -> tuple[str, ...]:
    """Files that a dev server reads once. Vite, Next and their like watch their own configuration."""
    names = [name for name in folder.files() if name.startswith(".env") and "example" not in name]
    return tuple(folder.at(name) for name in ["package.json", *names])


def _readiness(folder: Folder, found: Serving, version: int | None) -> Readiness:
    """The live-reload socket is checked only where nothing in the configuration moves it or turns it off."""
    framework = found.framework
    if framework is None:
        return Readiness()
    config = folder.first(*framework.config)
    moved = config is not None and re.search(r"\b(?:base|hmr|webSocketServer)\s*:", folder.text(config))
    usual = framework.hmr and found.entry is None and not moved and (version or 0) >= framework.hmr_since
    path, protocol = framework.hmr if framework.hmr and usual else (None, None)
    return Readiness(failure_signs=framework.failure_signs, websocket_path=path, websocket_protocol=protocol)
