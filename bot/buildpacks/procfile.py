"""A Procfile's web process, when no buildpack knows the language's framework."""

import re
import shlex

from bot.buildpacks import python_installs
from bot.buildpacks.buildpack import Finding, Role
from bot.plan import Argv, LaunchPlan, Note
from bot.source import Folder

PORT = 8000
_PYTHON = frozenset(
    {"python", "python3", "gunicorn", "uvicorn", "hypercorn", "waitress-serve", "daphne", "honcho", "flask"}
)
_NODE = frozenset({"node", "npm", "npx"})


def find(folder: Folder) -> Finding | None:
    """The plan of a web process that is one plain command of Python or Node."""
    words = web_process(folder.text("Procfile"))
    if not words or words[0] not in _PYTHON | _NODE:
        return None
    chosen = python_installs.choose(folder) if words[0] in _PYTHON else None
    ran: Argv = words
    if chosen:
        ran = (
            (".venv/bin/python", *words[1:]) if words[0].startswith("python") else (f".venv/bin/{words[0]}", *words[1:])
        )
    plan = LaunchPlan(
        kind="procfile",
        title="The Procfile's web process",
        root=folder.path,
        install_root=folder.path,
        package_manager=chosen.manager if chosen else "npm" if folder.has("package.json") else None,
        prepare=chosen.prepare if chosen else (),
        install=chosen.install if chosen else ("npm", "install") if folder.has("package.json") else None,
        start=ran,
        port=PORT,
        env=chosen.env if chosen else {},
        runtime={"python" if words[0] in _PYTHON else "node": "*"},
        install_inputs=chosen.inputs if chosen else (),
        restart_inputs=(folder.at("Procfile"),),
        reloads=False,
        notes=(Note(text="start: the web process", file=folder.at("Procfile")),),
    )
    return Finding(plan, Role.API)


def web_process(text: str) -> Argv:
    """The words of `web: …` with the port filled in; empty when a shell would be needed to run it."""
    line = re.search(r"^web:\s*(.+)$", text, re.MULTILINE)
    if line is None or re.search(r"[;&|<>`]|\$\(", line.group(1)):
        return ()
    try:
        words = shlex.split(line.group(1))
    except ValueError:
        return ()
    filled = tuple(re.sub(r"\$\{?PORT(?::-\d+)?\}?", str(PORT), word) for word in words)
    return () if any("$" in word or re.match(r"[A-Z_]+=", word) for word in filled) else filled
