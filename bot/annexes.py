"""The annexes as processes of their own: started, waited for until they listen, ended; the engine found again."""

import asyncio
import json
import os
import secrets
import shutil
import signal
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import httpx

from bot.errors import OperatorFault, PreviewError, WorldFault

START_LIMIT_SECONDS = 60
STOP_LIMIT_SECONDS = 20
_EXIT_ERRORS: dict[int, type[PreviewError]] = {2: OperatorFault, 75: WorldFault}


@dataclass(frozen=True, slots=True)
class Annex:
    """A process that listens: what its first line said, and how to end it."""

    process: asyncio.subprocess.Process
    announced: dict[str, Any]

    @property
    def url(self) -> str:
        """Where it listens."""
        return str(self.announced["url"])

    async def stop(self) -> None:
        """End it and wait for it; by force if it does not listen to reason."""
        if self.process.returncode is None:
            self.process.terminate()
            try:
                async with asyncio.timeout(STOP_LIMIT_SECONDS):
                    await self.process.wait()
            except TimeoutError:
                self.process.kill()
                await self.process.wait()

    def kill(self) -> None:
        """End it at once, as a power cut would."""
        with suppress(ProcessLookupError):
            self.process.kill()


async def start(
    words: Sequence[str], *, log: Path, env: Mapping[str, str] | None = None, outlives_us: bool = False
) -> Annex:
    """Run `python -m WORDS…` and wait for the JSON line that says where it listens. Its stderr goes to `log`.

    Unless it `outlives_us`, the kernel ends it when this process ends, however that comes about. Raises OperatorFault
    or WorldFault with its last words, as its exit code says.
    """
    with _opened(log) as stderr:
        process = await asyncio.create_subprocess_exec(
            *(() if outlives_us else _tied_to_us()), sys.executable, "-m", *words, stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE, stderr=stderr, env={**os.environ, **(env or {})}, start_new_session=True,
        )  # fmt: skip
    assert process.stdout  # noqa: S101 - asked for above
    try:
        async with asyncio.timeout(START_LIMIT_SECONDS):
            line = await process.stdout.readline()
        if line:
            return Annex(process, _announced(line))
        code = await process.wait()
    except asyncio.CancelledError:
        await Annex(process, {}).stop()
        raise
    except ValueError:
        process.kill()
        await process.wait()
        said = line.decode("utf-8", "replace").strip()[:200]
        raise PreviewError(f"{words[0]} said {said!r} instead of where it listens; its log is {log}") from None
    except TimeoutError:
        process.kill()
        await process.wait()
        raise WorldFault(f"{words[0]} did not listen within {START_LIMIT_SECONDS} s; its log is {log}") from None
    raise _EXIT_ERRORS.get(code, PreviewError)(f"{words[0]} ended with code {code}:\n{_last_words(log)}")


def _opened(log: Path) -> BinaryIO:
    try:
        log.parent.mkdir(parents=True, exist_ok=True)
        return os.fdopen(os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600), "ab")
    except OSError as error:
        raise OperatorFault(
            f"PREVIEW_DATA_DIR: cannot write {log}: {error.strerror}. Set it to a folder that this user may write to."
        ) from None


def _announced(line: bytes) -> dict[str, Any]:
    announced = json.loads(line)
    if not isinstance(announced, dict) or "url" not in announced:
        raise ValueError("no URL")
    return announced


def _tied_to_us() -> Sequence[str]:
    """See PR_SET_PDEATHSIG in https://man7.org/linux/man-pages/man1/setpriv.1.html; util-linux is everywhere."""
    return ("setpriv", "--pdeathsig", "TERM", "--") if shutil.which("setpriv") else ()


def _last_words(log: Path) -> str:
    try:
        return log.read_text("utf-8", "replace").strip()[-2000:]
    except OSError:
        return ""


async def start_engine(data: Path, *, outlives_us: bool = False) -> tuple[Annex, str]:
    """An engine of one's own; it and its bearer token."""
    token = secrets.token_urlsafe(32)
    words = ("bot.engine", "--port", "0", "--data", str(data / "engine"))
    environment = {"PREVIEW_ENGINE_TOKEN": token}
    return await start(words, log=data / "engine.log", env=environment, outlives_us=outlives_us), token


async def embedded_engine(data: Path, *, start: bool = True) -> tuple[str, str]:
    """The URL and token of this data folder's engine: the one that runs, or a new one that outlives us.

    Previews go on while the bot restarts, so the engine is looked for before one is started.
    """
    card = data / "engine.json"
    known = _read_card(card)
    if known and (not start or await _answers(*known)):
        return known
    if not start:
        return "http://127.0.0.1:9/api", "no engine was ever started here"
    engine, token = await start_engine(data, outlives_us=True)
    _write_card(card, {"url": engine.url, "token": token, "pid": engine.announced["pid"]})
    return engine.url, token


def _read_card(card: Path) -> tuple[str, str] | None:
    try:
        known = json.loads(card.read_text())
        return str(known["url"]), str(known["token"])
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _write_card(card: Path, content: dict[str, Any]) -> None:
    descriptor = os.open(card, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "w") as file:
        json.dump(content, file)


def stop_embedded_engine(data: Path) -> bool:
    """End the engine that `embedded_engine` left running; whether there was one."""
    try:
        pid = int(json.loads((data / "engine.json").read_text())["pid"])
        command = Path(f"/proc/{pid}/cmdline").read_bytes()
    except (OSError, ValueError, KeyError, TypeError):
        return False
    if b"bot.engine" not in command:  # the number was given to another process since
        return False
    os.kill(pid, signal.SIGTERM)
    return True


async def _answers(url: str, token: str) -> bool:
    headers = {"Authorization": f"Bearer {token}"}
    try:
        async with httpx.AsyncClient(timeout=5, trust_env=False) as client:
            answer = await client.get(f"{url}/v2/sandboxes", params={"limit": "1"}, headers=headers)
    except httpx.HTTPError:
        return False
    return answer.status_code == 200
