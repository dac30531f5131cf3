"""`preview doctor`: looks at this machine and the settings, and says what to do about each thing that is wrong."""

import os
import shutil
import subprocess
from collections.abc import Callable
from dataclasses import dataclass

from bot.engine.errors import IsolationError
from bot.engine.isolation import check_isolation
from bot.errors import PreviewError
from bot.settings import EMBEDDED, Settings

FREE_DISK_BYTES = 2 * 1024**3


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was looked at. `needed`: without it the bot does not work here."""

    name: str
    good: bool
    text: str
    needed: bool = True


async def examine(say: Callable[[str], None]) -> bool:
    """Print a line per finding; whether all that is needed is there."""
    settings = Settings.read()
    findings = [_git(), _node(), _disk(settings), await _isolation(settings), _github(settings)]
    for finding in findings:
        sign = "ok  " if finding.good else ("FAIL" if finding.needed else "note")
        say(f"{sign}  {finding.name:<10} {finding.text}")
    return all(finding.good for finding in findings if finding.needed)


def _git() -> Finding:
    found = shutil.which("git")
    return Finding("git", found is not None, _version("git") if found else "install it: apt install git")


def _node() -> Finding:
    found = shutil.which("npm")
    text = f"node {_version('node')}" if found else "no npm: only projects without Node can be previewed here"
    return Finding("node", found is not None, text, needed=False)


def _disk(settings: Settings) -> Finding:
    folder = settings.data_dir
    while not folder.exists():
        folder = folder.parent
    free = shutil.disk_usage(folder).free
    good = free > FREE_DISK_BYTES and os.access(folder, os.W_OK)
    text = f"{free / 1024**3:.1f} GiB free in {settings.data_dir}"
    return Finding("disk", good, text if good else f"{text}: free some, or set PREVIEW_DATA_DIR to a folder with room")


async def _isolation(settings: Settings) -> Finding:
    """A sandbox is really made and looked at from inside, unless somebody else's service makes them."""
    if settings.sandbox_service != EMBEDDED:
        return Finding("sandboxes", good=True, text=f"made by {settings.sandbox_service}")
    try:
        found = await check_isolation()
    except IsolationError as error:
        return Finding("isolation", good=False, text=str(error))
    return Finding("isolation", good=True, text=f"holds, with {found.bubblewrap} and {found.python}")


def _github(settings: Settings) -> Finding:
    try:
        settings.require_github()
    except PreviewError as error:
        return Finding("github", good=False, text=str(error), needed=False)
    return Finding("github", good=True, text=f"settings for {settings.github_api_url} are there")


def _version(tool: str) -> str:
    done = subprocess.run([tool, "--version"], capture_output=True, text=True, check=False)
    return done.stdout.strip().removeprefix("git version ")
