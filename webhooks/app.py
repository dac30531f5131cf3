"""The bot's web application: the webhook, health, and what runs beside them for as long as it is up."""

import asyncio
import uuid
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

import structlog
from litestar import Litestar, Response, get
from litestar.openapi import OpenAPIConfig
from litestar.status_codes import HTTP_503_SERVICE_UNAVAILABLE

from bot import workflow
from bot.context import Context, close_context
from bot.errors import WorldFault
from bot.executors import Executors
from bot.inbox import Inbox, release_claims
from bot.intake import Intake
from bot.previews import release_comment_claims
from bot.reconcile import Sweeper
from bot.takeover import watch
from webhooks.payloads import decode
from webhooks.receiver import github_webhook

log = structlog.get_logger()


def executor_name(context: Context) -> str:
    """One of its own for each process on a shared database; else always the same, to go on where the last one ended."""
    instance = context.settings.instance
    return f"{instance}-{uuid.uuid4()}" if context.store.shared else instance


def create_app(context: Context) -> Litestar:
    """The application over these owners. Starting it starts the inbox, the workflows and the sweep."""
    intake = Intake(context, decode)
    inbox = Inbox(context.store, intake.act)

    @asynccontextmanager
    async def lifespan(_: Litestar) -> AsyncIterator[None]:
        """DBOS is the outermost: it shuts the loop's default threads when it ends."""
        executors = Executors(context.store, executor_name(context))
        jobs = [inbox.serve(), Sweeper(context, intake).serve()]
        if context.store.shared:
            await executors.join()
            jobs.append(watch(executors))
        else:
            await context.store.run(release_claims)
            await context.store.run(release_comment_claims)
        workflow.configure(context, executors.name)
        workflow.launch_dbos()
        tasks = [asyncio.create_task(job) for job in jobs]
        try:
            yield
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            await inbox.close()
        finally:
            workflow.destroy_dbos()
            await executors.close()
            await close_context(context)

    @get("/health", sync_to_thread=False)
    def health() -> dict[str, str]:
        """The process answers."""
        return {"status": "ok"}

    @get("/ready")
    async def ready() -> Response[dict[str, str]]:
        """The database answers too."""
        with suppress(WorldFault):
            await context.previews.all(unreported=True)
            return Response({"status": "ok"})
        return Response({"status": "database unavailable"}, status_code=HTTP_503_SERVICE_UNAVAILABLE)

    secret = context.settings.github_webhook_secret.get_secret_value()
    return Litestar(
        route_handlers=[github_webhook(inbox, secret), health, ready],
        lifespan=[lifespan],
        openapi_config=OpenAPIConfig(title="Branch preview bot", version="1"),
        logging_config=None,
    )
