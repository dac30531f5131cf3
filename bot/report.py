"""The one place that tells GitHub: stored state -> the comment. Safe to repeat, and never behind for long."""

import asyncio
import weakref

import structlog

from bot.comments import marker, preview_comment
from bot.errors import GitHubUnavailable, PreviewError, WorldFault
from bot.github import GitHub
from bot.preview import Preview
from bot.previews import Previews
from bot.redaction import Redactor

log = structlog.get_logger()

PACE_SECONDS = 1.0
"""How long to wait between two edits that only show progress: GitHub limits the writes of an installation."""
MAX_BACKOFF_SECONDS = 60.0


class Reporter:
    """Shows previews on GitHub. One comment per preview: writes for one preview are serial, and render the newest."""

    def __init__(self, previews: Previews, github: GitHub, redactor: Redactor) -> None:
        self._previews = previews
        self._github = github
        self._redactor = redactor
        self._locks: weakref.WeakValueDictionary[int, asyncio.Lock] = weakref.WeakValueDictionary()
        self._following: dict[int, asyncio.Task[None]] = {}
        self._touched: set[int] = set()

    def touch(self, preview_id: int) -> None:
        """Something changed: tell GitHub soon, without waiting for it. Several changes become one edit."""
        self._touched.add(preview_id)
        if preview_id not in self._following:
            self._following[preview_id] = asyncio.create_task(self._follow(preview_id))

    async def tell(self, preview_id: int) -> None:
        """Return when GitHub shows the stored state. Raises WorldFault or OperatorFault when it cannot."""
        lock = self._locks.setdefault(preview_id, asyncio.Lock())
        async with lock:
            while True:
                preview = await self._previews.get(preview_id)
                if preview.version == preview.reported_version:
                    return
                if preview.launch is not None or preview.comment_id is not None:
                    await self._show(preview)
                await self._previews.reported(preview_id, preview.version)

    async def close(self) -> None:
        """Stop telling; what is not told yet is told at the next start."""
        tasks = list(self._following.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _follow(self, preview_id: int) -> None:
        wait = PACE_SECONDS
        try:
            while preview_id in self._touched:
                self._touched.discard(preview_id)
                try:
                    await self.tell(preview_id)
                    wait = PACE_SECONDS
                except WorldFault as error:
                    self._touched.add(preview_id)
                    wait = error.retry_after or min(MAX_BACKOFF_SECONDS, wait * 2)
                    log.warning("report.retry", preview=preview_id, reason=str(error), seconds=wait)
                await asyncio.sleep(wait)
        except (PreviewError, LookupError):
            log.exception("report.failed", preview=preview_id)  # the sweep tries again
        finally:
            del self._following[preview_id]

    async def _show(self, preview: Preview) -> None:
        body = self._redactor.mask(preview_comment(preview))
        if preview.comment_id is not None:
            if await self._github.edit_comment(preview.repository, preview.comment_id, body):
                return
            await self._previews.set_comment(preview.id, None)  # somebody deleted it
        if not await self._previews.claim_comment(preview.id):
            raise GitHubUnavailable("another process is writing the comment for the first time", retry_after=1)
        try:
            comment_id = await self._find_or_create(preview, body)
        except PreviewError:  # a claim that is cut off lapses: whoever holds it may still be writing
            await self._previews.set_comment(preview.id, None)
            raise
        await self._previews.set_comment(preview.id, comment_id)

    async def _find_or_create(self, preview: Preview, body: str) -> int | None:
        """Our comment's id. An answer that was lost may have left one behind; None: nobody is left to be told."""
        found = await self._github.find_comment(preview.repository, preview.number, marker(preview))
        if found is None:
            return await self._github.create_comment(preview.repository, preview.number, body)
        await self._github.edit_comment(preview.repository, found, body)
        return found
