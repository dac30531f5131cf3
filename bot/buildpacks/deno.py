"""Deno: a task that runs a file which serves. The `deno` package of the npm registry brings the program."""

import json
import re
from typing import Any

from bot.buildpacks import environment, ports, runtimes
from bot.buildpacks.buildpack import Finding, Refusal, Role
from bot.buildpacks.scripts import Command, unfold
from bot.plan import Argv, LaunchPlan, Note
from bot.source import Folder

_DENO: Argv = ("npx", "--yes", "deno@2")
_SERVES = re.compile(r"Deno\.serve|\bserve\s*\(|\.listen\s*\(|\$fresh|\bfresh\b|export default \{\s*fetch")
_LONGEST = 20_000
_COMMENT = re.compile(r'("(?:[^"\\]|\\.)*")|//[^\n]*|/\*.*?\*/', re.DOTALL)


def find(folder: Folder) -> Finding | Refusal | None:
    """The plan of a Deno server; a task that only prints is refused."""
    file = folder.first("deno.json", "deno.jsonc")
    if file is None or folder.has("package.json"):
        return None
    config = _jsonc(folder.read(file) or "")
    tasks = config.get("tasks")
    lines = {str(key): _line(value) for key, value in tasks.items()} if isinstance(tasks, dict) else {}
    for task in ("dev", "start", "serve"):
        for command in unfold(lines, task) if task in lines else ():
            if hit := _entry(folder, command):
                return _finding(folder, file, ("task", task), command, hit)
    entry = folder.first("main.ts", "server.ts", "mod.ts", "main.tsx", "main.js")
    if entry and _SERVES.search(folder.text(entry)):
        return _finding(folder, file, ("run", "-A", entry), Command(("deno", "run", entry)), entry)
    return Refusal("no Deno task starts a server", folder.at(file), 'Name the command: start = "…" and port = ….')


def _line(value: Any) -> str:
    """A task is a line, or an object that holds one."""
    return str(value.get("command", "")) if isinstance(value, dict) else str(value)


def _entry(folder: Folder, command: Command) -> str | None:
    if command.tool == "vite":
        return folder.first("vite.config.ts", "vite.config.js", "index.html")
    files = [word for word in command.words if re.search(r"\.[jt]sx?$", word) and folder.has(word)]
    folder.want(*files)
    serves = command.tool == "deno" and "serve" in command.words[1:2]
    return next((file for file in files if serves or _SERVES.search(folder.text(file))), None)


def _jsonc(text: str) -> dict[str, Any]:
    """JSON with comments and trailing commas taken out; an empty object when it still is none."""
    plain = _COMMENT.sub(lambda found: found.group(1) or "", text[:_LONGEST])
    try:
        value = json.loads(re.sub(r",(\s*[}\]])", r"\1", plain))
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


def _finding(folder: Folder, file: str, words: Argv, command: Command, entry: str) -> Finding:
    in_code = ports.of_code({entry: folder.text(entry)})
    port = ports.of_command(command) or (in_code[0] if in_code else None)
    default = 5173 if command.tool == "vite" else 8000
    pin = runtimes.pinned("deno", folder)
    fresh = "fresh" in folder.text(file)
    plan = LaunchPlan(
        kind="deno",
        title="Fresh with Deno" if fresh else "Deno",
        root=folder.path,
        install_root=folder.path,
        package_manager="deno",
        install=(*_DENO, "install"),
        start=(*_DENO, *words),
        port=port or default,
        needs_env=environment.needed(folder),
        runtime={"deno": pin[0] if pin else ">=2"},
        install_inputs=tuple(folder.at(name) for name in (file, "deno.lock") if folder.has(name)),
        restart_inputs=(folder.at(file),),
        reloads="--watch" in command.words or command.tool == "vite",
        notes=(
            Note(text=f"start: {' '.join(words)}", file=folder.at(file)),
            Note(text="it serves", file=folder.at(entry)),
        ),
    )
    return Finding(plan, Role.SITE if fresh else Role.API)
