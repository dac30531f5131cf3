"""From a delivery to a decision, and from a decision to a workflow. Everything that wakes us ends here."""

import asyncio
import json
import uuid
import weakref
from collections.abc import Callable
from dataclasses import dataclass

import structlog

from bot import commands, policy, workflow
from bot.comments import refusal, refusal_marker
from bot.context import Context
from bot.events import CommentCreated, Event, Ignored, PullRequestChanged
from bot.inbox import Stored
from bot.preview import Preview, PullRequest, RepoId, Repository, StopReason

log = structlog.get_logger()

OPERATOR_EVENT = "operator"
"""The event name of wake-ups that the command line puts into the inbox itself."""


@dataclass(frozen=True, slots=True)
class OperatorStop:
    """What `preview down` puts into the inbox."""

    preview_id: int
    event: str = OPERATOR_EVENT

    @property
    def id(self) -> str:
        """A delivery id of our own."""
        return f"operator:{uuid.uuid4()}"

    @property
    def body(self) -> bytes:
        """JSON, as a webhook's."""
        return json.dumps({"preview_id": self.preview_id}).encode()


class Intake:
    """Acts on deliveries. Acting twice on one is harmless: a decision that stands already changes nothing."""

    def __init__(self, context: Context, decode: Callable[[str, bytes], Event]) -> None:
        """`decode` turns an event's name and raw body into an Event; it lives with the webhook."""
        self._context = context
        self._decode = decode
        self._turns: weakref.WeakValueDictionary[tuple[RepoId, int], asyncio.Lock] = weakref.WeakValueDictionary()

    async def act(self, stored: Stored) -> str:
        """Do what a delivery asks for; a few words for the log come back. Raises WorldFault to be called again."""
        if stored.event == OPERATOR_EVENT:
            return await self._operator(json.loads(stored.body))
        event = self._decode(stored.event, stored.body)
        match event:
            case PullRequestChanged():
                return await self._pull_request(event, stored.received_at)
            case CommentCreated():
                return await self._comment(event, stored.received_at)
            case Ignored(reason=reason):
                return f"ignored: {reason}"
            case _:
                return f"ignored: {type(event).__name__} asks for nothing yet"

    async def look(self, repo_id: RepoId, number: int, installation_id: int | None, seen_at: float) -> str:
        """Compare a pull request as it is now with its preview, and do what is missing."""
        async with self._turn(repo_id, number):
            pull = await self._context.github.pull(repo_id, number, installation_id)
            if pull is None:
                return "no such pull request"
            preview = await self._context.previews.find(repo_id, number)
            rules = policy.Rules(drafts=self._context.settings.drafts, bots=self._context.settings.bots)
            return await self.carry_out(policy.decide(pull, preview, rules), pull, seen_at)

    def _turn(self, repo_id: RepoId, number: int) -> asyncio.Lock:
        """One at a time per pull request: what was read must still hold when it is acted on."""
        return self._turns.setdefault((repo_id, number), asyncio.Lock())

    async def carry_out(self, action: policy.Action, pull: PullRequest, seen_at: float) -> str:
        """Make a decision stand: first in the database, then as a workflow."""
        context = self._context
        if isinstance(action, policy.Ignore):
            return f"ignored: {action.reason}"
        preview = await context.previews.ensure(pull.repository, pull.number)
        match action:
            case policy.Launch(sha=sha, again=again, approved=approved):
                generation = await context.decisions.launch(
                    preview, sha, requested_at=seen_at, again=again, approved=approved
                )
                context.reporter.touch(preview.id)
                await workflow.begin_launch(preview, generation)
                return f"launch {generation} of {sha}"
            case policy.AskApproval(sha=sha):
                await context.decisions.await_approval(preview, sha, requested_at=seen_at)
                await self._take_down(await context.previews.get(preview.id))
                return f"{sha} waits for approval"
            case policy.Stop(reason=reason, hold=hold):
                return await self.stop(preview, reason, hold=hold)
            case policy.Refuse():
                return action.reason

    async def stop(self, preview: Preview, reason: StopReason, *, hold: bool) -> str:
        """Take a preview down."""
        await self._context.decisions.stop(preview, reason, hold=hold)
        await self._take_down(await self._context.previews.get(preview.id))
        return f"stopped: {reason}"

    async def _take_down(self, preview: Preview) -> None:
        self._context.reporter.touch(preview.id)
        await workflow.begin_teardown(preview, preview.generation)

    async def _pull_request(self, event: PullRequestChanged, seen_at: float) -> str:
        origin = event.origin
        return await self.look(origin.repo_id, event.number, origin.installation_id, seen_at)

    async def _comment(self, event: CommentCreated, seen_at: float) -> str:
        command = None if event.author_is_bot else await asyncio.to_thread(commands.parse, event.body)
        if command is None:
            return "ignored: no command"
        origin, github = event.origin, self._context.github
        async with self._turn(origin.repo_id, event.number):
            pull = await github.pull(origin.repo_id, event.number, origin.installation_id)
            if pull is None:
                return "no such pull request"
            may_write = await github.may_write(pull.repository, event.author)
            preview = await self._context.previews.find(origin.repo_id, event.number)
            action = policy.decide_command(command, pull, preview, may_write=may_write)
            await self._acknowledge(action, pull.repository, event)
            return await self.carry_out(action, pull, seen_at)

    async def _acknowledge(self, action: policy.Action, repository: Repository, event: CommentCreated) -> None:
        github = self._context.github
        if isinstance(action, policy.Ignore):
            return
        if not isinstance(action, policy.Refuse):
            await github.react(repository, event.comment_id, "eyes")
            return
        await github.react(repository, event.comment_id, "confused")
        seen = await github.find_comment(repository, event.number, refusal_marker(event.comment_id))
        if seen is None:
            await github.create_comment(repository, event.number, refusal(event.comment_id, action.reason))

    async def _operator(self, order: dict[str, int]) -> str:
        try:
            preview = await self._context.previews.get(order["preview_id"])
        except LookupError:
            return "no such preview"
        return await self.stop(preview, StopReason.OPERATOR, hold=True)
