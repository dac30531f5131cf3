"""The sweep: compares what is wanted with what runs, and repairs what lost deliveries and crashes broke.

It deletes only on positive evidence: a sandbox goes when the database, read in full, says that nobody wants it.
"""

import asyncio

import structlog

from bot import workflow
from bot.context import Context
from bot.errors import PreviewError
from bot.inbox import prune
from bot.intake import Intake
from bot.preview import Launch, Phase, Preview, StopReason
from bot.store import now

log = structlog.get_logger()

CATCH_UP_SECONDS = 600
"""How often to look at pull requests whose webhooks may have been lost."""
KEEP_DELIVERIES_SECONDS = 8 * 24 * 3600
"""Longer than GitHub lets anybody redeliver one (3 days on github.com, 7 on GitHub Enterprise Server)."""


class Sweeper:
    """Sweeps at the start and then on a timer."""

    def __init__(self, context: Context, intake: Intake) -> None:
        self._context = context
        self._intake = intake
        self._caught_up = 0.0

    async def serve(self) -> None:
        """Sweep until cancelled. A sweep that fails is logged, and the next one tries again."""
        while True:
            try:
                await self.sweep()
            except PreviewError as error:
                log.warning("sweep.aborted", reason=str(error))
            except Exception:
                log.exception("sweep.failed")
            await asyncio.sleep(self._context.settings.sweep_interval)

    async def sweep(self) -> None:
        """One pass over everything. Whatever makes a part of the picture unreadable is raised before a deletion."""
        context = self._context
        standing = set(await context.sandboxes.names())
        previews = await context.previews.all()  # read second: a sandbox made in between is not taken for an orphan
        for preview in previews:
            await self._repair(preview, standing)
        known = {preview.sandbox_name for preview in previews}
        for name in sorted(standing - known):
            log.warning("sweep.orphan", sandbox=name)
            await context.sandboxes.destroy(name)
        for preview in await context.previews.all(unreported=True):
            context.reporter.touch(preview.id)
        await self._catch_up()
        await context.store.run(lambda db: prune(db, now() - KEEP_DELIVERIES_SECONDS))

    async def _catch_up(self) -> None:
        """Look at the pull requests themselves: a delivery may have been lost while nobody listened.

        At the start and then now and again, for each look costs a request.
        """
        if now() - self._caught_up < CATCH_UP_SECONDS:
            return
        for preview in await self._context.previews.all():
            if preview.wanted:
                repository = preview.repository
                await self._intake.look(repository.id, preview.number, repository.installation_id, now())
        self._caught_up = now()

    async def _repair(self, preview: Preview, standing: set[str]) -> None:
        """Go on with a decision whose workflow is lost, take down what nobody wants, tell of what ended by itself."""
        if await workflow.under_way(preview):
            return
        launch, stands = preview.launch, preview.sandbox_name in standing
        if launch is None or launch.phase.ended or _waits(preview, launch):
            if stands:
                await self._destroy(preview)
        elif not preview.wanted:
            await self._settle(preview)
        elif launch.phase is not Phase.READY:
            await self._go_on(preview, launch)
        elif not await self._runs(preview):
            await self._intake.stop(preview, StopReason.EXPIRED, hold=False)

    async def _settle(self, preview: Preview) -> None:
        """Begin a teardown that was never begun. One that ended without success is decided once more."""
        if await workflow.is_over(preview):
            await self._intake.stop(preview, preview.stop_reason or StopReason.OPERATOR, hold=preview.held)
        else:
            await workflow.begin_teardown(preview, preview.generation)

    async def _go_on(self, preview: Preview, launch: Launch) -> None:
        """Begin a launch that was never begun. One whose workflow ended without a word of it is decided once more."""
        generation = preview.generation
        if await workflow.is_over(preview):
            generation = await self._context.decisions.launch(
                preview, launch.sha, requested_at=launch.requested_at, again=True
            )
        await workflow.begin_launch(preview, generation)

    async def _destroy(self, preview: Preview) -> None:
        """End a sandbox that nobody wants, unless somebody has decided otherwise since."""
        if (await self._context.previews.get(preview.id)).generation == preview.generation:
            await self._context.sandboxes.destroy(preview.sandbox_name)
            await self._context.decisions.forget_box(preview, preview.generation)

    async def _runs(self, preview: Preview) -> bool:
        box = await self._context.sandboxes.find(preview.sandbox_name)
        return box is not None and box.running


def _waits(preview: Preview, launch: Launch) -> bool:
    """Whether it waits for a maintainer, and so has nothing that runs."""
    return launch.phase is Phase.AWAITING_APPROVAL and preview.stop_reason is None
