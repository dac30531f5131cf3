"""The handful of owners that the story may use."""

from dataclasses import dataclass

from bot.decisions import Decisions
from bot.github import GitHub
from bot.objects import Objects
from bot.previews import Previews
from bot.redaction import Redactor
from bot.report import Reporter
from bot.runs import Runs
from bot.sandbox import Sandboxes
from bot.settings import Settings
from bot.store import Store


@dataclass(frozen=True, slots=True)
class Context:
    """Made once per process, by the command line."""

    settings: Settings
    store: Store
    previews: Previews
    decisions: Decisions
    github: GitHub
    sandboxes: Sandboxes
    objects: Objects
    redactor: Redactor
    reporter: Reporter
    runs: Runs


def create_context(settings: Settings, *, sandbox_url: str | None, sandbox_token: str) -> Context:
    """Wire the owners. `sandbox_url` None means Vercel's own service. Opens no connection yet."""
    redactor = Redactor([*settings.secrets(), sandbox_token])
    store = Store(settings.database)
    previews = Previews(store)
    github = GitHub(settings, redactor)
    return Context(
        settings=settings,
        store=store,
        previews=previews,
        decisions=Decisions(store),
        github=github,
        sandboxes=Sandboxes(
            sandbox_url,
            sandbox_token,
            redactor,
            instance=settings.instance,
            vcpus=settings.resources_vcpus,
            time_limit=settings.execution_time_limit,
        ),
        objects=Objects(settings.data_dir / "git"),
        redactor=redactor,
        reporter=Reporter(previews, github, redactor),
        runs=Runs(),
    )


async def close_context(context: Context) -> None:
    """Let go of everything, in the reverse order; sandboxes go on."""
    await context.reporter.close()
    await context.sandboxes.close()
    context.github.close()
    context.store.close()
