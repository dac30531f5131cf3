"""The port that a server will listen on, as far as scripts, environment files, configuration and code tell it.

First hit wins: the command's own flag or `PORT=` in front of it, `.env*`, the bundler's configuration, the code, the
framework's default. A number outside 1 to 65535 is no port.
"""

import re
from collections.abc import Mapping

from bot.buildpacks.scripts import Command
from bot.buildpacks.words import words
from bot.source import Folder

_FLAG = re.compile(r"^(--port|-p|-P|--dev-port|--server\.port|--listen|-l)$")
_FLAG_WITH_VALUE = re.compile(r"^(?:--port|-p|-P|--dev-port|--server\.port|--listen|-l)[=:]?(?:\S*:)?(\d{2,5})$")
ENV_FILES = words(
    ".env.development.local .env.local .env.development .env .env.example .env.sample .example.env "
    ".env.local.example .env.dist .env.template env.example"
)

_IN_CODE = tuple(
    re.compile(pattern)
    for pattern in (
        r"""env(?:\.|\[['"])PORT(?:['"]\])?[^\n;]{0,40}?(?:\|\||\?\?|:)[^\n;\d]{0,20}?(\d{2,5})\b""",
        r"""\bPORT\b[^\n;]{0,60}?\.?default\(\s*['"]?(\d{2,5})\b""",
        r"""\bPORT['"]?\s*(?:,|\?\?|\|\||or)\s*['"]?(\d{2,5})\b""",
        r"""\.listen\(\s*(?:\{[^}]{0,200}?port:\s*)?(\d{2,5})\b""",
        r"""\bport\s*[:=]\s*['"]?(\d{2,5})\b""",
        r"""\bport\s*[:=][^\n;]{0,60}?(?:\|\||\?\?|,)[^\n;\d]{0,10}?(\d{2,5})\b""",
        r"""\b(?:const|let|var)\s+\w*[Pp][Oo][Rr][Tt]\w*\s*=[^\n;\d]{0,40}?(\d{2,5})\b""",
    )
)


def as_port(text: str | None) -> int | None:
    """The number, when it is a port's."""
    return int(text) if text and text.isascii() and text.isdigit() and 0 < int(text) < 65536 else None


def of_command(command: Command) -> int | None:
    """The port in a command's flags, or in `PORT=` in front of it."""
    after = [*command.words[1:], ""]
    for word, value in zip(command.words, after, strict=True):
        attached = _FLAG_WITH_VALUE.match(word)
        named = attached.group(1) if attached else value.rpartition(":")[2] if _FLAG.match(word) else None
        if port := as_port(named):
            return port
    return as_port(command.env.get("PORT"))


def of_env_files(folder: Folder, variable: str = "PORT") -> tuple[int, str] | None:
    """The port that a variable holds in an environment file of the folder, and that file."""
    line = re.compile(rf"^(?:export[ \t]+)?{variable}[ \t]*=[ \t]*['\"]?(\d{{2,5}})['\"]?[ \t]*$", re.MULTILINE)
    for name in ENV_FILES:
        found = line.search(folder.text(name))
        if found and (port := as_port(found.group(1))):
            return port, name
    return None


def of_config(text: str, block: str) -> tuple[int | None, str | None]:
    """The port in the `block: { … }` object of a JavaScript configuration file, and the variable that wins over it."""
    inside = _block(text, block) or ""
    variable = re.search(r"\bport\s*:[^\n,}]{0,60}?\b([A-Z][A-Z0-9_]*PORT)\b", inside)
    found = re.search(r"\bport\s*:[^\n,}\d]{0,60}?(\d{2,5})\b", inside)
    return as_port(found.group(1)) if found else None, variable.group(1) if variable else None


def _block(text: str, name: str) -> str | None:
    """The text between the braces that follow `name:`; no JavaScript is parsed, braces are counted."""
    start = re.search(rf"\b{name}\s*:\s*\{{", text)
    if start is None:
        return None
    depth = 1
    for at in range(start.end(), min(len(text), start.end() + 20_000)):
        depth += {"{": 1, "}": -1}.get(text[at], 0)
        if depth == 0:
            return text[start.end() : at]
    return None


def of_code(texts: Mapping[str, str]) -> tuple[int, str] | None:
    """The port that JavaScript code falls back to, or insists on, and the file: the first that names one decides."""
    for name, text in texts.items():
        for pattern in _IN_CODE:
            found = pattern.search(text)
            if found and (port := as_port(found.group(1))):
                return port, name
    return None


def of_angular(workspace: Mapping[str, object]) -> int | None:
    """The port of the first `serve` target in an angular.json."""
    projects = workspace.get("projects")
    for project in projects.values() if isinstance(projects, dict) else ():
        targets = project.get("architect") or project.get("targets") if isinstance(project, dict) else None
        serve = targets.get("serve") if isinstance(targets, dict) else None
        options = serve.get("options") if isinstance(serve, dict) else None
        port = options.get("port") if isinstance(options, dict) else None
        if isinstance(port, int):
            return as_port(str(port))
    return None
