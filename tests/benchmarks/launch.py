"""Push → ready, beside the same steps typed by hand, as ratios in one run: `python -m tests.benchmarks.launch`.

By hand is: clone the commit, install, start the dev server, ask its URL until it answers; for an update: fetch and
check out the new commit, ask until the page has changed. Both begin with an empty package cache, and both end when an
HTTP client outside has seen the page. The bot's time also holds webhook, database, sandbox and the comment's edits.
"""

import argparse
import asyncio
import json
import os
import shutil
import signal
import statistics
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

import httpx

from bot.stage import free_port
from bot.subject import SAMPLES
from tests.forge_repository import git_environment
from tests.whole.apps import PAGE
from tests.whole.town import Town, open_town

LIMIT_SECONDS = 300


@dataclass(frozen=True, slots=True)
class App:
    """What is launched, and how it is launched by hand (`PORT` stands for the port)."""

    name: str
    files: dict[str, str]
    page: str
    install: tuple[str, ...]
    start: tuple[str, ...]


def apps() -> list[App]:
    """The sample app, and a page that needs no installing: what is left then is the bot's own share."""
    found = [App("static page", dict(PAGE), "index.html", (), (sys.executable, "-m", "http.server", "PORT"))]
    if shutil.which("npm"):
        files = {path.name: path.read_text() for path in (SAMPLES / "node").iterdir()}
        start = ("npm", "run", "dev", "--", "--port", "PORT", "--strictPort")
        found.append(App("Vite sample", files, "index.html", ("npm", "ci"), start))
    return found


async def by_bot(town: Town, app: App) -> tuple[float, float]:
    """Seconds from the push to a page that answers, and from a second push to the changed page."""
    story = await town.story(app.files)
    began = time.monotonic()
    await story.open_pull({"NOTE": "a change\n"})
    url = await story.ready()
    cold = time.monotonic() - began
    began = time.monotonic()
    await story.push({app.page: app.files[app.page].replace("</h1>", " (changed)</h1>")})
    await story.ready()
    await _shows(url, "(changed)")
    update = time.monotonic() - began
    await story.close()
    await story.no_sandbox()
    return cold, update


async def by_hand(town: Town, app: App, folder: Path) -> tuple[float, float]:
    """The same by hand, bare, with a package cache of its own."""
    story = await town.story(app.files)
    repository = story.repository
    port = free_port()
    environment = git_environment(repository.owner.token) | {
        "HOME": str(folder), "npm_config_cache": str(folder / "npm"), "CI": "1", "BROWSER": "none",
        **{name: os.environ[name] for name in ("NODE_EXTRA_CA_CERTS", "SSL_CERT_FILE") if name in os.environ},
    }  # fmt: skip
    clone = folder / "clone"
    began = time.monotonic()
    await repository.push({"NOTE": "a change\n"}, branch="change")
    await _run(
        "git", "clone", "--quiet", "--depth=1", "--branch=change", repository.clone_url, str(clone), env=environment
    )
    if app.install:
        await _run(*app.install, cwd=clone, env=environment)
    command = [str(port) if word == "PORT" else word for word in app.start]
    server = await asyncio.create_subprocess_exec(
        *command, cwd=clone, env=environment, stdin=asyncio.subprocess.DEVNULL, stdout=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.DEVNULL, start_new_session=True,
    )  # fmt: skip
    try:
        url = f"http://localhost:{port}"
        await _shows(url, "<h1>")
        cold = time.monotonic() - began
        began = time.monotonic()
        await repository.push({app.page: app.files[app.page].replace("</h1>", " (changed)</h1>")}, branch="change")
        await _run("git", "fetch", "--quiet", "--depth=1", "origin", "change", cwd=clone, env=environment)
        await _run("git", "checkout", "--quiet", "--force", "FETCH_HEAD", cwd=clone, env=environment)
        await _shows(url, "(changed)")
        return cold, time.monotonic() - began
    finally:
        os.killpg(server.pid, signal.SIGKILL)
        await server.wait()


async def _run(*words: str, cwd: Path | None = None, env: dict[str, str]) -> None:
    process = await asyncio.create_subprocess_exec(
        *words, cwd=cwd, env=env, stdin=asyncio.subprocess.DEVNULL, stdout=asyncio.subprocess.DEVNULL
    )
    if await process.wait():
        raise SystemExit(f"{' '.join(words)} failed")


async def _shows(url: str, text: str) -> None:
    ends = time.monotonic() + LIMIT_SECONDS
    async with httpx.AsyncClient(trust_env=False, timeout=60) as client:
        while time.monotonic() < ends:
            try:
                if text in (await client.get(url)).text:
                    return
            except httpx.HTTPError:
                pass
            await asyncio.sleep(0.02)
    raise SystemExit(f"{url} never showed {text!r}")


async def measure(rounds: int) -> dict[str, dict[str, float]]:
    """Medians in seconds and ratios bot ÷ hand, per app; the two take turns."""
    results: dict[str, dict[str, float]] = {}
    with tempfile.TemporaryDirectory() as folder:
        async with open_town(Path(folder) / "town") as town:
            for app in apps():
                pairs = []
                for number in range(rounds):
                    here = Path(folder) / f"{app.name}-{number}"
                    here.mkdir()
                    pairs.append((*await by_hand(town, app, here), *await by_bot(town, app)))
                hand, hand_update, bot, bot_update = (statistics.median(column) for column in zip(*pairs, strict=True))
                results[app.name] = {
                    "hand_cold": hand, "bot_cold": bot, "cold_ratio": bot / hand,
                    "hand_update": hand_update, "bot_update": bot_update, "update_ratio": bot_update / hand_update,
                }  # fmt: skip
    return results


def main() -> None:
    """Print a table and one JSON line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=3)
    results = asyncio.run(measure(parser.parse_args().rounds))
    for name, row in results.items():
        sys.stdout.write(f"{name:<14}" + "  ".join(f"{key} {value:6.2f}" for key, value in row.items()) + "\n")
    sys.stdout.write(json.dumps(results) + "\n")


if __name__ == "__main__":
    main()
