"""Manifests on their way to becoming Apps: what they ask for, and the one-time codes that stand for them."""

import secrets
from datetime import datetime, timedelta

from pydantic import BaseModel, ConfigDict, Field

from bot.forge.errors import NotFound
from bot.forge.state import now

CODE_LIFE = timedelta(hours=1)


class HookAttributes(BaseModel):
    """Where a manifest wants its deliveries."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    url: str
    active: bool = True


class Manifest(BaseModel):
    """What an App asks to be. Fields that the forge has no use for are ignored, as is usual for GitHub."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    name: str = Field(default="", max_length=34)
    url: str
    hook_attributes: HookAttributes | None = None
    redirect_url: str | None = None
    description: str | None = None
    default_permissions: dict[str, str] = Field(default_factory=dict)
    default_events: tuple[str, ...] = ()


class Codes:
    """Manifests that were confirmed and wait to be converted. A restart forgets them, and the flow is begun again."""

    def __init__(self) -> None:
        self._waiting: dict[str, tuple[Manifest, str, datetime]] = {}

    def give(self, manifest: Manifest, owner: str) -> str:
        """A code for a manifest that `owner` confirmed."""
        code = secrets.token_hex(20)
        self._waiting[code] = (manifest, owner, now() + CODE_LIFE)
        return code

    def take(self, code: str) -> tuple[Manifest, str]:
        """The manifest behind a code, once. Raises NotFound."""
        manifest, owner, until = self._waiting.pop(code, (None, "", now()))
        if manifest is None or until <= now():
            raise NotFound
        return manifest, owner
