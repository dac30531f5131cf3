"""The variables that a repository asks for: from its example files, its compose file, its app.json and its code."""

import re
from collections.abc import Iterator
from typing import Any

from bot.buildpacks.words import words
from bot.plan import Argv
from bot.source import Folder

EXAMPLES = words(
    ".env.example .env.sample .example.env .env.local.example .env.example.local .env.dist .env.template "
    ".env.development.example env.example example.env .env.defaults"
)
_LINE = re.compile(r"^[ \t]*(?:export\s+)?([A-Z][A-Z0-9_]{1,63})[ \t]*=[ \t]*(.*?)[ \t\r]*$", re.MULTILINE)
_PLACEHOLDER = re.compile(
    r"^$|^\*+$|change[-_ ]?me|replace[-_ ]?(?:me|with)|your[-_ ]|^<.*>$|\[[\w -]+\]|^x{3,}$|^\.\.\.$|^TODO"
    r"|super-?secret",
    re.IGNORECASE,
)
_VITAL = re.compile(
    r"(?:^|_)(?:SECRET|SECRET_KEY|APP_KEY|KEY_BASE)(?:_|$)|^(?:DATABASE|POSTGRES|POSTGRESQL|MYSQL|MONGO|MONGODB|REDIS|DB)_"
    r"|(?:^|_)(?:DATABASE|DB|MONGO|REDIS)_(?:URL|URI|PATH|HOST)$|^DATABASE_"
)
_OPTIONAL = re.compile(
    r"^(?:SMTP|MAIL|EMAIL|SENTRY|AWS|S3|STRIPE|GOOGLE|GITHUB|SLACK|TWILIO|ANALYTICS|LOG|TEST|CI|OPENAI|CLOUDFLARE"
    r"|POSTHOG|SENDGRID|RESEND)_|_(?:ECHO|POOL\w*|TIMEOUT|PORT|EXPIRATION\w*)$"
)
_IN_CODE = tuple(
    re.compile(pattern)
    for pattern in (
        r"""\b([A-Z][A-Z0-9_]{2,63})\s*:\s*(?:Joi|z|yup|t)\.[^\n,]*?(?:required\(\)|string\(\)(?:\.\w+\([^)]*\))*\s*,)""",
        r"""os\.environ\[\s*['"]([A-Z][A-Z0-9_]{2,63})['"]\s*\]""",
        r"""ENV\.fetch\(\s*['"]([A-Z][A-Z0-9_]{2,63})['"]\s*\)""",
        r"""process\.env\.([A-Z][A-Z0-9_]{2,63})!""",
    )
)
_OURS = frozenset({"PORT", "HOST", "HOSTNAME", "NODE_ENV", "CI"})


def example_file(folder: Folder) -> str | None:
    """The file that shows which variables are wanted."""
    return folder.first(*EXAMPLES)


def copy_example(folder: Folder, root: Folder) -> tuple[Argv, ...]:
    """The command, run in `root`, that makes a missing `.env` from the example; none when the example has no values."""
    example = example_file(folder)
    if example is None or folder.has(".env") or folder.has(".env.local"):
        return ()
    if not any(not _PLACEHOLDER.search(value.strip("'\"")) for _, value in _LINE.findall(folder.text(example))):
        return ()
    up = "../" * (0 if root.path == folder.path else root.path.count("/") + 1)
    return (("cp", "-n", f"{up}{example}", f"{up}.env"),)


def needed(folder: Folder, *around: Folder, code: tuple[str, ...] = ()) -> tuple[str, ...]:
    """Names of variables without which the app is not expected to serve, in the order in which they were found.

    A name in an example file counts when its value is a placeholder, or when it is a key or a database's address.
    """
    names: dict[str, None] = {}
    for place in dict.fromkeys((folder, *around)):
        example = example_file(place)
        for name, value in _LINE.findall(place.text(example)) if example else ():
            bare = value.split(" #")[0].strip().strip("'\"")
            if not _OPTIONAL.search(name) and (_VITAL.search(name) or _PLACEHOLDER.search(bare)):
                names[name] = None
        names |= dict.fromkeys(_of_compose(place))
        names |= dict.fromkeys(_of_app_json(place))
    for text in code:
        names |= dict.fromkeys(name for pattern in _IN_CODE for name in pattern.findall(text))
    return tuple(name for name in names if name not in _OURS)


def _of_compose(folder: Folder) -> Iterator[str]:
    """Keys and addresses that the compose file sets for what it builds, or for what waits for another service."""
    file = folder.first("compose.yaml", "compose.yml", "docker-compose.yml", "docker-compose.yaml")
    data = folder.yaml(file) if file else None
    services = data.get("services") if isinstance(data, dict) else None
    for service in services.values() if isinstance(services, dict) else ():
        if isinstance(service, dict) and ("build" in service or "depends_on" in service):
            yield from (name for name in _names(service.get("environment")) if _VITAL.search(name))


def _names(environment: Any) -> list[str]:
    if isinstance(environment, dict):
        return [str(name) for name in environment]
    if isinstance(environment, list):
        return [str(item).partition("=")[0] for item in environment]
    return []


def _of_app_json(folder: Folder) -> Iterator[str]:
    """Variables that Heroku's app.json calls required and does not generate."""
    env = (folder.json("app.json") or {}).get("env")
    for name, entry in env.items() if isinstance(env, dict) else ():
        if (
            isinstance(entry, dict)
            and entry.get("required", True)
            and "value" not in entry
            and "generator" not in entry
        ):
            yield str(name)
