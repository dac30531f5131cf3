"""The durable workflows. A launch reads top to bottom like the phase diagram in the README.

A *supervisor*, which nothing cancels, starts the *run* as its child and cleans up after whatever became of it. The run
may be cancelled at any step. Both are named by generation, not by commit: pushing back to an older commit must launch
it anew. What the workflows know lies in our own tables; DBOS remembers how far they got, and goes on after a crash.

Clean-up happens after the child has ended, never in `finally`: a deploy ends workflows by CancelledError too, and must
not take previews down.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable

import structlog
from dbos import DBOS, DBOSConfig, DBOSPortableJSONSerializer, SetWorkflowID
from dbos import error as dbos_error

from bot import steps
from bot.context import Context
from bot.errors import OperatorFault, PreviewError, RepositoryFault, Superseded, WorldFault
from bot.preview import Failure, Preview
from bot.redaction import plain, tail
from bot.store import make_private

log = structlog.get_logger()

APPLICATION_VERSION = "1"
"""Constant on purpose: DBOS derives it from the source otherwise, and strands what runs at each deploy."""
MAX_RECOVERY_ATTEMPTS = 10
_MARGIN_SECONDS = 120
READY, FAILED, SUPERSEDED = "ready", "failed", "superseded"

_context: Context | None = None


def configure(context: Context, executor: str) -> None:
    """Set up DBOS on the bot's database, as this executor; `launch_dbos` is next. Once per process.

    A process that has the database for itself always has the same name: it goes on with its predecessor's workflows.
    """
    global _context  # noqa: PLW0603 - DBOS calls module-level functions, in this process only
    _context = context
    make_private(context.settings.workflow_database)
    logging.getLogger("dbos").addFilter(_worth_a_line)
    DBOS(
        config=DBOSConfig(
            name="branch-preview-bot",
            system_database_url=context.settings.workflow_database,
            application_version=APPLICATION_VERSION,
            executor_id=executor,
            serializer=DBOSPortableJSONSerializer(),
            max_executor_threads=16,
            log_level="WARNING",
        )
    )


def _worth_a_line(record: logging.LogRecord) -> bool:
    """A run that was cut short is nobody's fault; DBOS logs each as an error, with its traceback."""
    return not (record.exc_info and isinstance(record.exc_info[1], dbos_error.DBOSAwaitedWorkflowCancelledError))


def launch_dbos() -> None:
    """Begin: workflows that a crash or a deploy interrupted go on from here."""
    DBOS.launch()


def destroy_dbos() -> None:
    """End; what is under way goes on at the next start."""
    DBOS.destroy()


async def begin_launch(preview: Preview, generation: int) -> None:
    """Start the launch of that generation, if it was not yet; older runs are cut short."""
    context = _bound()
    context.runs.overtake(preview.id, generation)
    await _cancel_runs(preview, generation)
    with SetWorkflowID(f"launch:{preview.id}:{generation}"):
        await DBOS.start_workflow_async(launch, preview.id, generation)


async def begin_teardown(preview: Preview, generation: int) -> None:
    """Take the preview down, if that generation's teardown was not begun yet; runs are cut short."""
    context = _bound()
    context.runs.overtake(preview.id, generation)
    await _cancel_runs(preview, generation)
    with SetWorkflowID(f"teardown:{preview.id}:{generation}"):
        await DBOS.start_workflow_async(teardown, preview.id, generation)


async def under_way(preview: Preview) -> bool:
    """Whether DBOS still has something to do for the preview's newest decision."""
    return await _exists(preview, ["PENDING", "ENQUEUED"])


async def is_over(preview: Preview) -> bool:
    """Whether DBOS did all that it will do for the preview's newest decision; beginning it again changes nothing."""
    return await _exists(preview, ["SUCCESS", "ERROR", "CANCELLED", "MAX_RECOVERY_ATTEMPTS_EXCEEDED"])


async def _exists(preview: Preview, status: list[str]) -> bool:
    ids = [f"{kind}:{preview.id}:{preview.generation}" for kind in ("launch", "teardown")]
    found = await DBOS.list_workflows_async(workflow_ids=ids, status=status, load_input=False, load_output=False)
    return bool(found)


async def busy_executors() -> set[str]:
    """The names of the processes that own unfinished workflows."""
    pending = await DBOS.list_workflows_async(status="PENDING", load_input=False, load_output=False)
    return {status.executor_id for status in pending if status.executor_id}


async def recover(executor: str) -> None:
    """Go on with a dead process's workflows.

    This call of DBOS is private, and conditional on owner and status, which the public way (`resume_workflows`) is
    not: https://docs.dbos.dev/python/tutorials/workflow-management. dbos is pinned, and a test watches over it.
    """
    await asyncio.to_thread(DBOS._recover_pending_workflows, [executor])


async def _cancel_runs(preview: Preview, generation: int) -> None:
    pending = await DBOS.list_workflows_async(
        workflow_id_prefix=f"launch:{preview.id}:", status="PENDING", load_input=False, load_output=False
    )
    for status in pending:
        _, _, rest = status.workflow_id.split(":", 2)
        older, _, part = rest.partition("/")
        if part == "run" and int(older) < generation:
            await DBOS.cancel_workflow_async(status.workflow_id)


@DBOS.workflow(name="launch", max_recovery_attempts=MAX_RECOVERY_ATTEMPTS)
async def launch(preview_id: int, generation: int) -> str:
    """The supervisor: run, then settle whatever became of it."""
    with SetWorkflowID(f"launch:{preview_id}:{generation}/run"):
        child = await DBOS.start_workflow_async(run, preview_id, generation)
    try:
        outcome = await child.get_result()
    except dbos_error.DBOSAwaitedWorkflowCancelledError:
        outcome = SUPERSEDED
    except Exception as error:
        outcome = await give_up(preview_id, generation, _reason(error))
    await settle(preview_id, generation, outcome)
    await tell(preview_id)
    return outcome


@DBOS.workflow(name="run", max_recovery_attempts=MAX_RECOVERY_ATTEMPTS)
async def run(preview_id: int, generation: int) -> str:
    """From a decision to an answering URL, one phase after the other."""
    for step in (fetch, detect, install, start, check):
        try:
            outcome = await step(preview_id, generation)
        except Exception as error:
            return await give_up(preview_id, generation, _reason(error))
        if outcome:
            return outcome
    return READY


@DBOS.workflow(name="teardown", max_recovery_attempts=MAX_RECOVERY_ATTEMPTS)
async def teardown(preview_id: int, generation: int) -> None:
    """No process, no sandbox; and only then the comment says so."""
    await destroy(preview_id, generation)
    await tell(preview_id)


Work = Callable[[steps.Run], Awaitable[None]]


def _step(work: Work, limit: Callable[[], float]) -> Callable[[int, int], Awaitable[str]]:
    """A phase as a durable step: preemptible, tried again when the world is at fault, and never longer than `limit`.

    It returns "" when the next may follow, else how the run ended.
    """

    async def step(preview_id: int, generation: int) -> str:
        context = _bound()
        await context.runs.settled(preview_id, generation)
        labour = _within(limit(), work, steps.Run(context, preview_id, generation))
        try:
            await context.runs.guard(preview_id, generation, labour)
        except Superseded:
            return SUPERSEDED
        except RepositoryFault as error:
            return await _fail(preview_id, generation, error)
        return ""

    step.__name__ = step.__qualname__ = work.__name__
    return DBOS.step(
        name=work.__name__, preemptible=True, retries_allowed=True, max_attempts=5, interval_seconds=0.5,
        backoff_rate=2, should_retry=lambda error: isinstance(error, WorldFault),
    )(step)  # fmt: skip


async def _within(limit: float, work: Work, run: steps.Run) -> None:
    try:
        async with asyncio.timeout(limit) as deadline:
            await work(run)
    except TimeoutError:
        if not deadline.expired():
            raise
        raise RepositoryFault(f"It took more than {limit:.0f} s.") from None


fetch = _step(steps.fetch, lambda: 600)
detect = _step(steps.detect, lambda: 120)
install = _step(steps.install, lambda: 4 * _bound().settings.install_limit + _MARGIN_SECONDS)
start = _step(steps.start, lambda: 4 * _bound().settings.install_limit + _MARGIN_SECONDS)
check = _step(steps.check, lambda: _bound().settings.ready_limit + _MARGIN_SECONDS)


@DBOS.step(name="give_up")
async def give_up(preview_id: int, generation: int, reason: str) -> str:
    """End a launch that neither the repository nor a newer push ended."""
    return await _fail(preview_id, generation, RepositoryFault(reason))


@DBOS.step(name="settle", retries_allowed=True, max_attempts=8, interval_seconds=0.5, backoff_rate=2)
async def settle(preview_id: int, generation: int, outcome: str) -> None:
    """Leave nothing behind that is not wanted: the sandbox of a failed launch, or one made while it was closed."""
    context = _bound()

    async def labour() -> None:
        preview = await context.previews.get(preview_id)
        newest = preview.generation == generation
        if (newest and outcome == FAILED) or not preview.wanted:
            await context.sandboxes.destroy(preview.sandbox_name)
            await context.decisions.forget_box(preview, generation)

    await context.runs.guard(preview_id, generation, labour(), firm=True)


@DBOS.step(name="destroy", retries_allowed=True, max_attempts=20, interval_seconds=0.5, backoff_rate=1.5)
async def destroy(preview_id: int, generation: int) -> None:
    """End the sandbox, unless a newer decision wants it."""
    context = _bound()
    await context.runs.settled(preview_id, generation)

    async def labour() -> None:
        preview = await context.previews.get(preview_id)
        if preview.generation == generation and not preview.wanted:
            await context.sandboxes.destroy(preview.sandbox_name)
            await context.decisions.stopped(preview, generation)

    await context.runs.guard(preview_id, generation, labour(), firm=True)


@DBOS.step(name="tell")
async def tell(preview_id: int) -> None:
    """Have GitHub show how it ended. A report that fails never changes the outcome: the reporter tries on."""
    context = _bound()
    try:
        await context.reporter.tell(preview_id)
    except PreviewError as error:
        log.warning("report.late", preview=preview_id, reason=str(error))
        context.reporter.touch(preview_id)


async def _fail(preview_id: int, generation: int, fault: RepositoryFault) -> str:
    context = _bound()
    try:
        current = await context.previews.check_current(preview_id, generation)
        log_tail = tail(plain(fault.log)) if fault.log else ""
        failure = Failure(current.phase, fault.cause, fault.remedy, log_tail)
        await context.previews.fail(preview_id, generation, failure)
    except Superseded:
        return SUPERSEDED
    context.reporter.touch(preview_id)
    return FAILED


def _reason(error: Exception) -> str:
    """One sentence for the comment: what is the world's or the operator's fault is said to be just that."""
    if isinstance(error, dbos_error.DBOSMaxStepRetriesExceeded) and error.errors:
        error = error.errors[-1]
    if isinstance(error, OperatorFault):
        log.error("operator.fault", reason=str(error))
        return "The bot is not configured right; its operator finds the reason in its log."
    if isinstance(error, WorldFault):
        log.error("world.fault", reason=str(error))
        return "A service that the bot depends on did not answer, several times. `/preview` tries again."
    log.error("launch.bug", exc_info=error)
    return "An error of the bot's own; its operator finds it in its log."


def _bound() -> Context:
    assert _context is not None, "configure() comes first"  # noqa: S101
    return _context
