"""The environment: every setting of the bot, typed; secrets typed as secrets."""

import os
import re
from difflib import get_close_matches
from functools import cached_property
from pathlib import Path
from typing import Annotated

from platformdirs import user_data_path
from pydantic import AliasChoices, Field, SecretStr, ValidationError, field_validator
from pydantic_settings import BaseSettings, SettingsConfigDict

from bot.errors import OperatorFault

EMBEDDED = "embedded"
VERCEL = "vercel"


def _named(name: str) -> AliasChoices:
    """A setting that keeps the name which GitHub or Vercel gave it."""
    return AliasChoices(name)


class Settings(BaseSettings):
    """Read from the environment, then from `.env.local` in the working directory (where `vercel env pull` writes)."""

    model_config = SettingsConfigDict(
        env_prefix="PREVIEW_", env_file=".env.local", extra="ignore", frozen=True, env_ignore_empty=True
    )

    data_dir: Path = Field(default_factory=lambda: user_data_path("branch-preview-bot"))
    """Where the database, the embedded engine and the git cache live."""
    database_url: str = ""
    """An SQLAlchemy URL; empty means SQLite in the data folder."""
    host: str = "127.0.0.1"
    port: Annotated[int, Field(ge=0, le=65535)] = 8080

    engine: str = ""
    """`embedded`, `vercel`, or the base URL of a Sandbox API. Empty: `vercel` with its credentials, else `embedded`."""
    engine_token: SecretStr = SecretStr("")
    """The bearer token of a Sandbox API named by URL."""

    instance: Annotated[str, Field(pattern=r"^[a-z0-9-]{1,40}$")] = "default"
    """Tells the sandboxes of this bot from those of another one in the same Vercel project."""

    drafts: bool = False
    """Whether drafts are previewed without being asked for."""
    bots: bool = False
    """Whether pull requests opened by bots are previewed without being asked for."""
    resources_vcpus: Annotated[int, Field(ge=1, le=32)] = 2
    execution_time_limit: Annotated[int, Field(ge=60)] = 5 * 3600
    """Seconds a sandbox may run before it is stopped."""
    install_limit: Annotated[int, Field(ge=1)] = 900
    """Seconds that installing, and each setup or build command, may take."""
    ready_limit: Annotated[int, Field(ge=1)] = 300
    """Seconds from starting the dev server to its first good answer."""
    sweep_interval: Annotated[int, Field(ge=1)] = 60
    """Seconds between two sweeps that compare pull requests with what runs."""
    log_level: str = "info"

    github_api_url: str = Field("https://api.github.com", validation_alias=_named("GITHUB_API_URL"))
    github_token: SecretStr = Field(SecretStr(""), validation_alias=_named("GITHUB_TOKEN"))
    github_app_id: str = Field("", validation_alias=_named("GITHUB_APP_ID"))
    github_app_private_key: SecretStr = Field(SecretStr(""), validation_alias=_named("GITHUB_APP_PRIVATE_KEY"))
    """The key in PEM form, or the path of the file that holds it."""
    github_webhook_secret: SecretStr = Field(SecretStr(""), validation_alias=_named("GITHUB_WEBHOOK_SECRET"))

    vercel_oidc_token: SecretStr = Field(SecretStr(""), validation_alias=_named("VERCEL_OIDC_TOKEN"))
    vercel_token: SecretStr = Field(SecretStr(""), validation_alias=_named("VERCEL_TOKEN"))
    vercel_team_id: str = Field("", validation_alias=_named("VERCEL_TEAM_ID"))
    vercel_project_id: str = Field("", validation_alias=_named("VERCEL_PROJECT_ID"))

    @field_validator("data_dir")
    @classmethod
    def _absolute(cls, value: Path) -> Path:
        """No shell expands a `~` in `.env.local`, and the processes that we start may work elsewhere."""
        return value.expanduser().absolute()

    @field_validator("github_api_url")
    @classmethod
    def _url(cls, value: str) -> str:
        if not value.startswith(("http://", "https://")):
            raise ValueError("must begin with https:// (https://HOST/api/v3 for GitHub Enterprise Server)")
        return value.rstrip("/")

    @field_validator("github_app_id")
    @classmethod
    def _app_id(cls, value: str) -> str:
        if value and not re.fullmatch(r"\d+|Iv[\w.]+", value):
            raise ValueError("must be the App's number, or its client id (Iv…), from the App's page on GitHub")
        return value

    @field_validator("engine")
    @classmethod
    def _known_engine(cls, value: str) -> str:
        if value in {"", EMBEDDED, VERCEL} or value.startswith(("http://", "https://")):
            return value.rstrip("/")
        raise ValueError("must be `embedded`, `vercel`, or the http(s) base URL of a Sandbox API")

    @classmethod
    def read(cls, **given: object) -> "Settings":
        """The settings in force; `given` values win. Raises OperatorFault naming each wrong setting and why."""
        unknown = [_unknown(name, cls) for name in sorted(os.environ) if name.startswith("PREVIEW_")]
        try:
            settings = cls(**given)  # type: ignore[arg-type]
        except ValidationError as error:
            raise OperatorFault("\n".join([*map(_describe, error.errors()), *filter(None, unknown)])) from None
        if any(unknown):
            raise OperatorFault("\n".join(filter(None, unknown)))
        return settings

    @cached_property
    def database(self) -> str:
        """The SQLAlchemy URL in force."""
        url = self.database_url or f"sqlite:///{self.data_dir / 'preview.db'}"
        return url.replace("postgres://", "postgresql://", 1).replace("postgresql://", "postgresql+psycopg://", 1)

    @cached_property
    def workflow_database(self) -> str:
        """Where DBOS keeps how far workflows got: beside our tables in Postgres, a file of its own with SQLite."""
        return f"sqlite:///{self.data_dir / 'workflows.db'}" if self.database.startswith("sqlite") else self.database

    @cached_property
    def sandbox_service(self) -> str:
        """`embedded`, `vercel` or a base URL: what `engine` means once the credentials are known."""
        has_credentials = bool(self.vercel_oidc_token.get_secret_value() or self.vercel_token.get_secret_value())
        return self.engine or (VERCEL if has_credentials else EMBEDDED)

    @cached_property
    def private_key(self) -> str:
        """The App's private key in PEM form. Raises OperatorFault when there is no such file, or no key in it."""
        value = self.github_app_private_key.get_secret_value()
        if not value or value.lstrip().startswith("-----BEGIN"):
            return value.replace("\\n", "\n")
        try:
            text = Path(value).expanduser().read_text()
        except (OSError, ValueError) as error:
            raise OperatorFault(
                f"GITHUB_APP_PRIVATE_KEY: cannot read the key file {value}: {getattr(error, 'strerror', 'no text')}. "
                "Set it to the key itself or to the path of the .pem file."
            ) from None
        if "PRIVATE KEY-----" not in text:
            raise OperatorFault(
                f"GITHUB_APP_PRIVATE_KEY: {value} holds no private key; it is the .pem file from GitHub"
            )
        return text

    def secrets(self) -> list[str]:
        """Every configured value that must never be shown."""
        values = (
            self.engine_token, self.github_token, self.github_webhook_secret, self.vercel_oidc_token, self.vercel_token
        )  # fmt: skip
        return [value.get_secret_value() for value in values if value.get_secret_value()] + (
            [self.private_key] if self.private_key else []
        )

    def require_github(self) -> None:
        """Raise OperatorFault that lists exactly what `preview serve` still lacks."""
        missing = []
        has_key = bool(self.private_key)
        if not self.github_webhook_secret.get_secret_value():
            missing.append("GITHUB_WEBHOOK_SECRET: the secret that you typed into the webhook's settings on GitHub")
        if not self.github_token.get_secret_value():
            if has_key and not self.github_app_id:
                missing.append("GITHUB_APP_ID: the number of the App whose key GITHUB_APP_PRIVATE_KEY is")
            elif not self.github_app_id:
                missing.append(
                    "GITHUB_APP_ID and GITHUB_APP_PRIVATE_KEY: a GitHub App's id and key (or GITHUB_TOKEN: a token "
                    "with read access to contents and write access to pull requests)"
                )
            elif not has_key:
                missing.append("GITHUB_APP_PRIVATE_KEY: the App's key in PEM form, or the path of its .pem file")
        if missing:
            raise OperatorFault("These settings are missing:\n" + "\n".join(f"  {line}" for line in missing))


_NOT_OURS = frozenset({"PREVIEW_URL", "PREVIEW_ENGINE_EGRESS_PROXY"})
"""Names of others that begin alike: what previews are told, and what only the engine reads."""


def _unknown(name: str, settings: type[BaseSettings]) -> str | None:
    known = [f"PREVIEW_{field.upper()}" for field in settings.model_fields]
    if name in known or name in _NOT_OURS:
        return None
    near = get_close_matches(name, known, n=1)
    return f"{name}: there is no such setting" + (f"; did you mean {near[0]}?" if near else "")


def _describe(item: object) -> str:
    assert isinstance(item, dict)  # noqa: S101 - pydantic's ErrorDetails
    name = str(item["loc"][0]) if item["loc"] else "settings"
    setting = name if name.isupper() else f"PREVIEW_{name.upper()}"
    return f"{setting}: {item['msg'].removeprefix('Value error, ')} (it is {str(item['input'])[:60]!r})"
