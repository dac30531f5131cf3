"""A repository's own `.github/preview.toml`: untrusted text, read strictly.

Every key that is set replaces what detection found; every key that is not set leaves it alone.
"""

import difflib
import posixpath
import re
import shlex
import tomllib
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from bot.errors import RepositoryFault
from bot.plan import Argv

CONFIG_FILE = ".github/preview.toml"
MAX_CONFIG_BYTES = 64_000


class ConfigInvalid(RepositoryFault):
    """The file cannot be used; the cause names the file and the key."""


def _words(value: Any) -> Any:
    """A command given as text is split as a shell would split it. No shell runs it: operators are refused."""
    if not isinstance(value, str):
        return value
    try:
        words = shlex.split(value)
    except ValueError as error:
        raise ValueError(f"cannot be split into words ({error})") from error
    operators = {"&&", "||", "|", ";", "&", ">", "<", ">>"} & set(words)
    if operators:
        raise ValueError(f"holds {sorted(operators)[0]!r}, but no shell runs it: write a script and call that")
    return words


def _not_empty(value: Any) -> Any:
    words = _words(value)
    if isinstance(words, list | tuple) and not words:
        raise ValueError("must not be empty")
    return words


def _commands(value: Any) -> Any:
    """One command as text, or a list of commands."""
    if isinstance(value, str):
        return [_words(value)]
    return [_words(item) for item in value] if isinstance(value, list) else value


def _inside(value: Any) -> Any:
    if not isinstance(value, str):
        return value
    path = posixpath.normpath(value or ".")
    if path.startswith(("/", "..")) or "\0" in path or "\\" in path:
        raise ValueError("must be a folder of this repository")
    return path


Command = Annotated[Argv, BeforeValidator(_not_empty)]
EnvName = Annotated[str, Field(pattern=r"^[A-Za-z_][A-Za-z0-9_]*$", max_length=128)]
Port = Annotated[int, Field(ge=1, le=65535, strict=True)]


class _Table(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Health(_Table):
    """When the app counts as alive."""

    path: Annotated[str, Field(pattern=r"^/[^\s#]*$", max_length=1024)] | None = None
    accept: tuple[Annotated[int, Field(ge=100, le=599, strict=True)], ...] | None = None


class RepoConfig(_Table):
    """The keys of the file. Commands are lists of words, or text that is split like a shell would."""

    root: Annotated[str, BeforeValidator(_inside)] | None = None
    """The folder to preview; detection looks only there."""
    install: Annotated[Argv, BeforeValidator(_words)] | None = None
    """Empty: nothing is installed."""
    setup: Annotated[tuple[Command, ...], BeforeValidator(_commands)] | None = None
    build: Annotated[Argv, BeforeValidator(_words)] | None = None
    start: Command | None = None
    port: Port | None = None
    health: Health = Health()
    env: dict[EnvName, str] = Field(default_factory=dict)
    runtime: dict[str, str] = Field(default_factory=dict)


def parse_config(text: str) -> RepoConfig:
    """The file's values. Raises ConfigInvalid: one sentence with the file and the key, the nearest known key."""
    if len(text) > MAX_CONFIG_BYTES:
        raise ConfigInvalid(f"{CONFIG_FILE} is larger than {MAX_CONFIG_BYTES} bytes.")
    try:
        values = tomllib.loads(text.removeprefix("\ufeff"))
    except (ValueError, RecursionError) as error:
        raise ConfigInvalid(f"{CONFIG_FILE} is not valid TOML: {_one_line(error)}.") from error
    try:
        return RepoConfig.model_validate(values)
    except ValidationError as error:
        raise _explained(error) from error


def config_schema() -> dict[str, Any]:
    """The JSON Schema of the file, for editors. https://json-schema.org/draft/2020-12/schema"""
    return {"$schema": "https://json-schema.org/draft/2020-12/schema"} | RepoConfig.model_json_schema()


def _explained(error: ValidationError) -> ConfigInvalid:
    first = error.errors()[0]
    key = ".".join(str(part) for part in first["loc"])
    if first["type"] != "extra_forbidden":
        message = re.sub(r"^Value error, ", "", first["msg"])
        return ConfigInvalid(f"{CONFIG_FILE}: {key} {_lowered(message)}.")
    table: type[BaseModel] = Health if len(first["loc"]) > 1 and first["loc"][0] == "health" else RepoConfig
    known = list(table.model_fields)
    near = difflib.get_close_matches(str(first["loc"][-1]), known, n=1, cutoff=0.5)
    remedy = f'Did you mean "{near[0]}"?' if near else f"Known keys: {', '.join(known)}."
    return ConfigInvalid(f"{CONFIG_FILE}: unknown key {_quoted(key)}.", remedy=remedy)


def _quoted(key: str) -> str:
    return f'"{_one_line(key)[:60]}"'


def _lowered(message: str) -> str:
    return f"is wrong: {message[:1].lower()}{message[1:]}" if message[:1].isupper() else message


def _one_line(value: object) -> str:
    return " ".join(str(value).split())
