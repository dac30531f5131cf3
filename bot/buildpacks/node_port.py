"""The port of a package's server, and what decided it."""

from bot.buildpacks import ports
from bot.buildpacks.buildpack import Role, noted
from bot.buildpacks.frameworks import Framework
from bot.buildpacks.node_serving import Serving, nearby_texts
from bot.buildpacks.package_json import PackageJson
from bot.plan import Note
from bot.source import Folder


def of(package: PackageJson, found: Serving) -> tuple[int, Note]:
    """The port, and the note that says what decided it."""
    folder, framework = package.folder, found.framework
    if port := ports.of_command(found.command):
        return port, noted(f"port {port}, by the script", folder, "package.json", at=str(port))
    if (found.entry or framework is None or framework.reads_port) and (hit := ports.of_env_files(folder)):
        return hit[0], noted(f"port {hit[0]}", folder, hit[1], at="PORT")
    config = folder.first(*framework.config) if framework else None
    if framework and config and (configured := _configured_port(folder, framework, config)):
        return configured
    if framework and framework.kind == "angular" and (port := ports.of_angular(folder.json("angular.json") or {})):
        return port, noted(f"port {port}", folder, "angular.json", at=str(port))
    entry = found.entry or (
        folder.first("src/main.ts", "src/main.js") if framework and framework.role is Role.API else None
    )
    if entry and (hit := ports.of_code(nearby_texts(package, entry))):
        return hit[0], noted(f"port {hit[0]}, found in the code", folder, hit[1], at=str(hit[0]))
    default = framework.port if framework else 3000
    return default, Note(text=f"port {default}, the default of {found.named[1]}")


def _configured_port(folder: Folder, framework: Framework, config: str) -> tuple[int, Note] | None:
    """The port in the framework's configuration, or in an environment file under the name that stands there."""
    port, variable = ports.of_config(folder.text(config), framework.port_block)
    for place in folder.upwards() if variable else ():
        if hit := ports.of_env_files(place, variable or ""):
            return hit[0], noted(f"port {hit[0]}", place, hit[1], at=variable or "")
    return (port, noted(f"port {port}", folder, config, at=str(port))) if port else None
