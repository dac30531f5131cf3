""".NET: a project built on the web SDK."""

import re

from bot.buildpacks import environment
from bot.buildpacks.buildpack import Finding, Refusal, Role
from bot.buildpacks.ports import as_port
from bot.plan import LaunchPlan, Note
from bot.source import Folder

_WEB = re.compile(r'Sdk="Microsoft\.NET\.Sdk\.(?:Web|BlazorWebAssembly)"')


def find(folder: Folder) -> Finding | Refusal | None:
    """The plan of an ASP.NET project in the folder, or in one just below a solution file."""
    depth = 3 if any(name.endswith((".sln", ".slnx")) for name in folder.files()) else 1
    projects = [name for name in folder.files(depth) if name.endswith((".csproj", ".fsproj"))]
    if not projects:
        return None
    settings = {name: _beside(name, "Properties/launchSettings.json") for name in projects}
    folder.want(*projects, *settings.values())
    web = [name for name in projects if _WEB.search(folder.text(name)) and "test" not in name.lower()]
    if not web:
        return Refusal("no .NET project here uses the web SDK", folder.at(projects[0]))
    project = web[0]
    text = folder.text(project)
    port = _port(folder.text(settings[project]))
    framework = re.search(r"<TargetFrameworks?>\s*net(?:coreapp)?(\d+\.\d+)", text)
    place = Folder(folder.tree, folder.at(project.rpartition("/")[0] or "."))
    plan = LaunchPlan(
        kind="aspnet",
        title="ASP.NET Core",
        root=place.path,
        install_root=place.path,
        package_manager="dotnet",
        install=("dotnet", "restore"),
        start=("dotnet", "run"),
        port=port or 5000,
        env={"ASPNETCORE_ENVIRONMENT": "Development", "DOTNET_CLI_TELEMETRY_OPTOUT": "1"},
        needs_env=environment.needed(folder),
        runtime={"dotnet": framework.group(1) if framework else "*"},
        install_inputs=(folder.at(project),),
        restart_inputs=tuple(place.at(name) for name in ("appsettings.json",) if place.has(name)),
        reloads=False,
        notes=(
            Note(text="ASP.NET Core, by the project's SDK", file=folder.at(project)),
            Note(text=f"port {port}", file=folder.at(settings[project]))
            if port
            else Note(text="port 5000, the default"),
        ),
    )
    return Finding(plan, Role.SITE, toolchain=False)


def _beside(project: str, name: str) -> str:
    place = project.rpartition("/")[0]
    return f"{place}/{name}" if place else name


def _port(settings: str) -> int | None:
    """The plain HTTP port of the first launch profile that has one."""
    found = re.search(r'"applicationUrl"\s*:\s*"[^"]{0,300}?http://[^":;]+:(\d{2,5})', settings)
    return as_port(found.group(1)) if found else None
