"""Containers, when nothing else was found: compose.yaml, then a Dockerfile. They say what would run."""

import re
from typing import Any

from bot.buildpacks import environment, runtimes
from bot.buildpacks.buildpack import Finding, Role
from bot.buildpacks.ports import as_port
from bot.plan import Argv, LaunchPlan, Note
from bot.source import Folder

COMPOSE_FILES = ("compose.yaml", "compose.yml", "docker-compose.yml", "docker-compose.yaml")
_IMAGE_PORTS = {"nginx": 80, "httpd": 80, "php": 80, "caddy": 80, "wordpress": 80, "ghost": 2368, "node": 3000,
                "tomcat": 8080, "jekyll": 4000, "grafana": 3000, "jupyter": 8888}  # fmt: skip
_BACKING = re.compile(
    r"postgres|mysql|mariadb|mongo|redis|rabbitmq|elastic|memcached|minio|kafka|zookeeper|valkey|mailpit|mailhog"
)


def find(folder: Folder) -> Finding | None:
    """The plan of a repository that only containers can start; the Dockerfile of a GitHub Action is none."""
    if folder.path != "." or folder.first("action.yml", "action.yaml"):
        return None
    return _compose(folder) or _dockerfile(folder)


def _compose(folder: Folder) -> Finding | None:
    file = folder.first(*COMPOSE_FILES)
    data = folder.yaml(file) if file else None
    services = data.get("services") if isinstance(data, dict) else None
    if file is None or not isinstance(services, dict):
        return None
    ports = [port for name, service in services.items() if (port := _published(str(name), service))]
    if not ports:
        return None
    note = Note(text="a compose file publishes a port", file=folder.at(file))
    start = ("docker", "compose", "up", "--build")
    return _finding(folder, "Docker Compose", start, ports[0], note=note, role=Role.API)


def _published(name: str, service: Any) -> int | None:
    """The port on the host's side of a service that is not a database."""
    ports = service.get("ports") if isinstance(service, dict) else None
    if not isinstance(ports, list) or _BACKING.search(f"{name} {service.get('image', '')}"):
        return None
    for entry in ports:
        if isinstance(entry, dict):
            port = as_port(str(entry.get("published") or entry.get("target")))
        else:
            # "127.0.0.1:8080:80/tcp", "8080:80", "${PORT:-8080}:80", "80"
            numbers = re.findall(r"\d{2,5}(?![\d.]*\.)", re.sub(r"^[\d.]+\.\d+:", "", str(entry)).partition("/")[0])
            port = as_port(numbers[0]) if numbers else None
        if port:
            return port
    return None


def _dockerfile(folder: Folder) -> Finding | None:
    text = folder.text("Dockerfile")
    exposed = re.search(r"^EXPOSE\s+(\d{2,5})", text, re.MULTILINE | re.IGNORECASE)
    images = re.findall(r"^FROM\s+(?:--\S+\s+)?(\S+)", text, re.MULTILINE | re.IGNORECASE)
    known = next((port for name, port in _IMAGE_PORTS.items() if images and name in images[-1]), None)
    port = as_port(exposed.group(1)) if exposed else known
    if port is None:
        return None
    note = Note(text=f"a Dockerfile, port {port}", file=folder.at("Dockerfile"))
    start = ("docker", "run", "--rm", "-p", f"{port}:{port}", "preview")
    return _finding(folder, "Dockerfile", start, port, note=note, role=Role.PART)


def _finding(folder: Folder, title: str, start: Argv, port: int, *, note: Note, role: Role) -> Finding:
    kind = "compose" if "compose" in start else "dockerfile"
    versions = {
        tool: hit[0] for tool in ("node", "python", "php", "go", "ruby") if (hit := runtimes.of_image(tool, folder))
    }
    plan = LaunchPlan(
        kind=kind,
        title=title,
        build=("docker", "build", "-t", "preview", ".") if kind == "dockerfile" else None,
        start=start,
        port=port,
        needs_env=environment.needed(folder),
        runtime={"docker": "*"} | versions,
        reloads=False,
        notes=(note,),
    )
    return Finding(plan, role, toolchain=False)
