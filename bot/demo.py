"""`preview demo` and `preview up`: the whole play on this machine, told as it happens."""

import asyncio
import json
import re
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from pathlib import Path

from rich.console import Console
from rich.markup import escape

from bot.errors import PreviewError
from bot.stage import Page, Stage, open_stage
from bot.subject import Subject, prepare

COLD_LIMIT_SECONDS = 900
UPDATE_LIMIT_SECONDS = 600
STOP_LIMIT_SECONDS = 60
_URL = re.compile(r"\[Open the preview\]\(([^)\s]+)\)")


class Narrator:
    """Tells what happens: one JSON object a line, or words for a person with a spinner between them."""

    def __init__(self, *, as_json: bool) -> None:
        self._as_json = as_json
        self._began = time.monotonic()
        self._console = Console(stderr=as_json, highlight=False)

    @property
    def seconds(self) -> float:
        """Since the beginning."""
        return time.monotonic() - self._began

    def tell(self, event: str, words: str, **facts: object) -> None:
        """Something happened."""
        if self._as_json:
            sys.stdout.write(json.dumps({"t": round(self.seconds, 3), "event": event, **facts}) + "\n")
            sys.stdout.flush()
        else:
            self._console.print(f"[dim]{self.seconds:6.1f} s[/dim]  {words}", soft_wrap=True)

    @asynccontextmanager
    async def waiting(self, words: str) -> AsyncIterator[None]:
        """Something takes a while."""
        if self._as_json or not self._console.is_terminal:
            yield
            return
        with self._console.status(words):
            yield


async def run_demo(repo: str | None, ref: str | None, *, keep: bool, as_json: bool) -> None:
    """Every stage, seen from outside. Raises PreviewError at the first that was not."""
    narrator = Narrator(as_json=as_json)
    with _folder() as folder:
        subject = prepare(repo, ref, folder / "clone")
        narrator.tell("subject", f"Previewing {escape(subject.about)}.", about=subject.about)
        async with _staged(folder, subject, narrator) as stage:
            url, cold = await _first_push(stage, subject, narrator)
            update = await _second_push(stage, subject, url, narrator)
            if keep:
                await _keep(stage, url, narrator)
            await _stop(stage, url, narrator)
            comments = len(await stage.bot_comments())
            if comments != 1:
                raise PreviewError(f"the bot wrote {comments} comments instead of one")
            narrator.tell(
                "done", f"Done: first preview in {cold:.1f} s, update in {update:.1f} s, one comment, nothing left.",
                ok=True, cold_seconds=round(cold, 2), update_seconds=round(update, 2), comments=comments, url=url,
                engine=stage.engine.url,
            )  # fmt: skip


async def run_up(source: str, ref: str | None, *, as_json: bool) -> None:
    """One preview until Ctrl-C."""
    narrator = Narrator(as_json=as_json)
    with _folder() as folder:
        subject = prepare(source, ref, folder / "clone")
        narrator.tell("subject", f"Previewing {escape(subject.about)}.", about=subject.about)
        async with _staged(folder, subject, narrator) as stage:
            url, cold = await _first_push(stage, subject, narrator)
            narrator.tell("up", f"[bold]{url}[/bold]  (Ctrl-C ends it)", url=url, cold_seconds=round(cold, 2))
            await _until_interrupted()
            await _stop(stage, url, narrator)


@contextmanager
def _folder() -> Iterator[Path]:
    """A throw-away folder; after a failure it is left, and the error says where the logs in it are."""
    folder = Path(tempfile.mkdtemp(prefix="preview-demo-"))
    try:
        yield folder
    except PreviewError as error:
        if (folder / "bot.log").exists():
            error.args = (f"{error}\n\nThe logs of bot, engine and forge are in {folder}",)
        else:
            shutil.rmtree(folder, ignore_errors=True)
        raise
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise
    shutil.rmtree(folder, ignore_errors=True)


@asynccontextmanager
async def _staged(data: Path, subject: Subject, narrator: Narrator) -> AsyncIterator[Stage]:
    async with AsyncExitStack() as stack:
        async with narrator.waiting("Starting a small GitHub, a sandbox engine and the bot …"):
            stage = await stack.enter_async_context(open_stage(data, subject.name))
        narrator.tell("started", "A small GitHub, a sandbox engine and the bot are up.", forge=stage.forge.url)
        yield stage


async def _first_push(stage: Stage, subject: Subject, narrator: Narrator) -> tuple[str, float]:
    async with narrator.waiting("Pushing a branch and opening a pull request …"):
        began = narrator.seconds
        await stage.open_pull(subject)
    sha = subject.head()
    narrator.tell(
        "pushed", f"Pushed {sha[:7]} and opened the pull request {stage.pull_page}", sha=sha, pull=stage.pull_page
    )
    async with narrator.waiting("Waiting for the comment to hold a URL that answers …"):
        comment = await stage.await_comment("🟢", sha, limit=COLD_LIMIT_SECONDS)
        url = _url(comment)
        page = await stage.await_page(url, subject.shows and subject.shows[0], limit=10)
    seconds = narrator.seconds - began
    words = (
        f"[green]The comment holds a URL that answers[/green]: {url}  ({page.status}, {seconds:.1f} s after the push)"
    )
    narrator.tell("ready", words, url=url, status=page.status, seconds=round(seconds, 2))
    return url, seconds


async def _second_push(stage: Stage, subject: Subject, url: str, narrator: Narrator) -> float:
    sha = subject.make_change()
    async with narrator.waiting("Pushing a second commit …"):
        began = narrator.seconds
        await stage.push(subject, "change")
        comment = await stage.await_comment("🟢", sha, limit=UPDATE_LIMIT_SECONDS)
        page: Page = await stage.await_page(_url(comment), subject.shows and subject.shows[1], limit=30)
    seconds = narrator.seconds - began
    seen = "the page has changed" if subject.shows else f"its URL answers: {page.status}"
    words = f"[green]The same comment shows {sha[:7]}[/green], {seen}  ({seconds:.1f} s after the push)"
    narrator.tell("updated", words, sha=sha, url=url, status=page.status, seconds=round(seconds, 2))
    return seconds


async def _stop(stage: Stage, url: str, narrator: Narrator) -> None:
    async with narrator.waiting("Saying /preview stop …"):
        await stage.say("/preview stop")
        await stage.await_comment("⚪", "was removed", limit=STOP_LIMIT_SECONDS)
        if await stage.look(url) is not None:
            raise PreviewError(f"{url} still answers after the comment said that the preview was removed")
    narrator.tell("stopped", "[green]Said `/preview stop`[/green]: the comment says removed, and the URL is gone.")


async def _keep(stage: Stage, url: str, narrator: Narrator) -> None:
    narrator.tell("kept", f"Pull request: [bold]{stage.pull_page}[/bold]", pull=stage.pull_page, url=url)
    narrator.tell("kept", f"Preview:      [bold]{url}[/bold]   (Ctrl-C ends it all)", pull=stage.pull_page, url=url)
    await _until_interrupted()


async def _until_interrupted() -> None:
    """Return at Ctrl-C or SIGTERM instead of being cut off by it."""
    stopped = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stopped.set)
    await stopped.wait()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.remove_signal_handler(number)


def _url(comment: str) -> str:
    found = _URL.search(comment)
    if found is None:
        raise PreviewError(f"the comment holds no URL:\n\n{comment}")
    return found[1]
