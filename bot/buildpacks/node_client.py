"""A server whose script also starts a client that is kept, and installed, in a folder of its own."""

from bot.buildpacks.buildpack import Finding, Role, noted
from bot.buildpacks.package_json import PackageJson
from bot.buildpacks.scripts import unfold
from bot.plan import Argv, LaunchPlan
from bot.source import Folder

_ELSEWHERE = {"npm": "--prefix", "yarn": "--cwd", "pnpm": "--dir", "bun": "--cwd"}
"""The flag with which a manager works in another folder."""


def folders(package: PackageJson, script: str) -> list[Folder]:
    """The folders with a package.json to which the script hands over, as `npm start --prefix client` does."""
    names = [command.delegated for command in unfold(package.scripts, script)]
    inside = [name.strip("./") for name in names if name and not name.startswith(("..", "/", "*"))]
    places = [Folder(package.folder.tree, package.folder.at(name)) for name in inside if name]
    below = "" if package.folder.path == "." else f"{package.folder.path}/"
    return [place for place in places if _is_below(place.path, below) and place.has("package.json")]


def _is_below(path: str, prefix: str) -> bool:
    return path != "." and path.startswith(prefix) and not path.startswith("..")


def joined(server: LaunchPlan, client: Finding, place: Folder) -> LaunchPlan:
    """The server's plan, showing the client: its port, its signs of life, and an install of its own."""
    shown = client.plan
    if client.role is not Role.SITE or shown.install is None:
        return server
    relative = shown.install_root.removeprefix(f"{server.root}/")
    flag = _ELSEWHERE.get(shown.package_manager or "")
    apart = shown.install_root != server.install_root and flag is not None
    install: tuple[Argv, ...] = ((*shown.install, flag or "", relative),) if apart else ()
    return server.model_copy(
        update={
            "kind": shown.kind,
            "title": f"{shown.title}, with its server",
            "setup": (*server.setup, *install),
            "port": shown.port,
            "env": server.env | shown.env,
            "readiness": shown.readiness,
            "install_inputs": (*server.install_inputs, *shown.install_inputs),
            "notes": (*server.notes, noted("the script starts this client too", place, "package.json")),
        }
    )
