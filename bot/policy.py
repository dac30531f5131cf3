"""What should happen, and why. Decided on the pull request as it is now, never on one payload."""

from dataclasses import dataclass

from bot import commands
from bot.preview import CommitSha, Phase, Preview, PullRequest, StopReason


@dataclass(frozen=True, slots=True)
class Rules:
    """What the operator set: whether drafts and bots' pull requests are previewed without being asked for."""

    drafts: bool = False
    bots: bool = False


@dataclass(frozen=True, slots=True)
class Launch:
    """Bring up this commit. `again`: even if it stands already or has failed. `approved`: a writer vouched for it."""

    sha: CommitSha
    again: bool = False
    approved: bool = False


@dataclass(frozen=True, slots=True)
class Stop:
    """Take the preview down. `hold`: and leave it down until somebody says `/preview`."""

    reason: StopReason
    hold: bool = False


@dataclass(frozen=True, slots=True)
class AskApproval:
    """Show that this commit of a fork waits for a writer."""

    sha: CommitSha


@dataclass(frozen=True, slots=True)
class Refuse:
    """Answer a command with one sentence."""

    reason: str


@dataclass(frozen=True, slots=True)
class Ignore:
    """Do nothing; the reason is for the operator's log."""

    reason: str


Action = Launch | Stop | AskApproval | Refuse | Ignore


def decide(pull: PullRequest, preview: Preview | None, rules: Rules) -> Action:
    """What a pull request in this state deserves, whatever the event was that made us look."""
    if not pull.open:
        return Stop(StopReason.CLOSED) if preview else Ignore("closed, and never had a preview")
    if preview and preview.held:
        return Ignore("stopped by a command; /preview brings it back")
    if pull.from_fork:
        approved = preview is not None and preview.approved_sha == pull.head_sha
        return Launch(pull.head_sha) if approved else AskApproval(pull.head_sha)
    asked_for = preview is not None and preview.wanted
    if pull.draft and not rules.drafts and not asked_for:
        return Ignore("a draft; /preview asks for one all the same")
    if pull.author_is_bot and not rules.bots and not asked_for:
        return Ignore("opened by a bot; /preview asks for one all the same")
    return Launch(pull.head_sha)


def decide_command(command: commands.Command, pull: PullRequest, preview: Preview | None, *, may_write: bool) -> Action:
    """What a person's command on an open pull request asks for, if that person may ask."""
    if not pull.open:
        return Ignore("a command on a closed pull request")
    if not may_write:
        return Refuse("Only people with write permission to this repository can command its previews.")
    match command:
        case commands.Launch(sha=sha):
            return _launch(sha, pull, preview)
        case commands.Stop():
            return Stop(StopReason.COMMAND, hold=True)
        case _:
            return Refuse("These are the commands: `/preview` launches, `/preview stop` takes the preview down.")


def _launch(asked: str | None, pull: PullRequest, preview: Preview | None) -> Action:
    """A launch by command. On a fork it approves the commit that it names, never "the newest".

    A comment says which commit its writer saw only by naming it: a push may arrive before the comment does, or a
    moment before it was sent.
    """
    if asked and asked != pull.head_sha:
        return Refuse(f"The head of this pull request is {pull.head_sha}, not {asked}: look at it and ask again.")
    approved = preview is not None and preview.approved_sha == pull.head_sha
    if pull.from_fork and not asked and not approved:
        sha = pull.head_sha
        return Refuse(f"This pull request comes from a fork: look at {sha}, then comment `/preview {sha}`.")
    failed = preview is not None and preview.launch is not None and preview.launch.phase is Phase.FAILED
    return Launch(pull.head_sha, again=failed, approved=pull.from_fork)
