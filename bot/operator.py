"""What the operator's commands do with the bot's database and sandboxes: list, logs, down."""

import asyncio
import re
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

from rich.console import Console
from rich.table import Table

from bot.context import Context, close_context, create_context
from bot.errors import OperatorFault, PreviewError, SandboxUnavailable, WorldFault
from bot.inbox import put_now
from bot.intake import OperatorStop
from bot.preview import Phase, Preview
from bot.settings import Settings

DOWN_LIMIT_SECONDS = 60
_PULL = re.compile(r"([\w.-]+/[\w.-]+)#([1-9][0-9]*)")


async def list_rows() -> list[dict[str, Any]]:
    """Every preview as plain values, oldest first."""
    async with _context() as context:
        return [_row(preview) for preview in await context.previews.all()]


def show_table(rows: list[dict[str, Any]]) -> None:
    """The rows for a person."""
    if not rows:
        Console().print("No previews yet: open a pull request, or comment /preview on one.")
        return
    table = Table("Pull request", "State", "Commit", "URL", box=None)
    for row in rows:
        table.add_row(row["pull"], row["state"], (row["sha"] or "")[:7], row["url"] or "")
    Console().print(table)


async def read_logs(pull: str) -> str:
    """What the dev server printed so far; of a failed launch, the log of the failure."""
    async with _context() as context:
        preview = await _find(context, pull)
        if preview.launch and preview.launch.failure:
            return preview.launch.failure.log or preview.launch.failure.cause
        if preview.box is None or preview.box.server is None:
            raise PreviewError(f"{pull} runs no dev server now; its state is {state(preview)}")
        box = await context.sandboxes.find(preview.sandbox_name)
        if box is None:
            raise SandboxUnavailable(f"the sandbox of {pull} is gone; the bot's next sweep will notice")
        return await box.output(preview.box.server)


async def take_down(pull: str, say: Callable[[str], None]) -> None:
    """Store the order, and wait until a running bot has carried it out. Raises WorldFault when none does."""
    async with _context() as context:
        preview = await _find(context, pull)
        order = OperatorStop(preview.id)
        await context.store.run(lambda db: put_now(db, order))
        for _ in range(round(DOWN_LIMIT_SECONDS * 10)):
            current = await context.previews.get(preview.id)
            if not current.wanted and current.stop_reason and (not current.launch or current.launch.phase.ended):
                say(f"{pull} is down")
                return
            await asyncio.sleep(0.1)
        raise WorldFault(
            f"the order is stored, but no running bot took it within {DOWN_LIMIT_SECONDS} s: preview serve"
        )


def state(preview: Preview) -> str:
    """One word for how a preview stands."""
    if preview.launch is None:
        return "none"
    if preview.launch.phase is Phase.AWAITING_APPROVAL or preview.wanted:
        return str(preview.launch.phase)
    return "stopped" if preview.launch.phase.ended else "stopping"


def _row(preview: Preview) -> dict[str, Any]:
    launch = preview.launch
    return {
        "pull": f"{preview.repository.name}#{preview.number}",
        "state": state(preview),
        "sha": launch.sha if launch else None,
        "url": launch.url if launch and launch.phase is Phase.READY else None,
        "seconds_to_ready": launch.seconds_to_ready if launch else None,
    }


async def _find(context: Context, pull: str) -> Preview:
    match = _PULL.fullmatch(pull)
    if match is None:
        raise OperatorFault(f"{pull!r} names no pull request; write OWNER/REPO#N")
    preview = await context.previews.find_by_name(match[1], int(match[2]))
    if preview is None:
        raise PreviewError(f"there is no preview of {pull} in this bot's database; `preview list` shows all")
    return preview


@asynccontextmanager
async def _context() -> AsyncIterator[Context]:
    from webhooks.serve import sandbox_service

    settings = Settings.read()
    url, token = await sandbox_service(settings, start=False)
    context = create_context(settings, sandbox_url=url, sandbox_token=token)
    try:
        context.store.migrate()
        yield context
    finally:
        await close_context(context)
