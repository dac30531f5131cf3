"""Everything the bot says on GitHub, one pure function per saying. Texts from outside are masked and defused first."""

from bot.plan import LaunchPlan, spoken
from bot.preview import Failure, Launch, Phase, Preview, StopReason
from bot.redaction import code_block, inline, plain, prose, tail

SITE_NAME = "branch-preview"

_UNDER_WAY = {
    Phase.QUEUED: "is queued",
    Phase.FETCHING: "is fetching the commit",
    Phase.DETECTING: "is looking for what to start",
    Phase.INSTALLING: "is installing dependencies",
    Phase.BUILDING: "is preparing the app",
    Phase.STARTING: "is starting the dev server",
    Phase.WAKING: "is waking up",
}
_FAILED_WHILE = {
    Phase.QUEUED: "before it began",
    Phase.FETCHING: "while fetching the commit",
    Phase.DETECTING: "while looking for what to start",
    Phase.INSTALLING: "while installing",
    Phase.BUILDING: "while preparing the app",
    Phase.STARTING: "while starting the dev server",
}
_STOPPED = {
    StopReason.CLOSED: "The pull request was closed. Reopening it brings the preview back.",
    StopReason.COMMAND: "Stopped by a command. `/preview` brings it back.",
    StopReason.OPERATOR: "Stopped by the operator. `/preview` brings it back.",
    StopReason.EXPIRED: "Its time was up. `/preview` or a push brings it back.",
    StopReason.REPOSITORY_GONE: "The repository is gone.",
}
_SHORT = {Phase.FETCHING: "fetch", Phase.INSTALLING: "install", Phase.BUILDING: "prepare", Phase.STARTING: "start"}


def marker(preview: Preview) -> str:
    """The hidden line by which the comment is found again."""
    return f"<!-- {SITE_NAME} {preview.repository.id}#{preview.number} -->"


def preview_comment(preview: Preview) -> str:
    """The one comment on a pull request, rendered from stored state."""
    launch = preview.launch
    if launch is None:
        body = _stopped(preview.stop_reason)
    elif launch.phase is Phase.AWAITING_APPROVAL and not preview.stop_reason:
        body = _awaiting_approval(launch)
    elif not preview.wanted:
        body = _stopped(preview.stop_reason) if launch.phase.ended else _stopping()
    elif launch.phase is Phase.READY:
        body = _ready(launch)
    elif launch.phase is Phase.FAILED and launch.failure:
        body = _failed(launch, launch.failure)
    else:
        body = _under_way(preview, launch)
    return f"{marker(preview)}\n{body}\n"


def refusal(comment_id: int, reason: str) -> str:
    """The answer to a command that was refused; the marker keeps it from being given twice."""
    return f"{refusal_marker(comment_id)}\n{reason}\n"


def refusal_marker(comment_id: int) -> str:
    """The hidden line by which a refusal is found again."""
    return f"<!-- {SITE_NAME} reply {comment_id} -->"


def _ready(launch: Launch) -> str:
    how = "Updated in place" if launch.in_place else "Ready"
    parts = [f"{name} {launch.timings[phase]:.1f} s" for phase, name in _SHORT.items() if launch.timings.get(phase)]
    seconds = f"{launch.seconds_to_ready or 0:.1f} s after the push"
    rows = [
        ("Preview", f"<{launch.url}>"),
        ("Commit", launch.sha),
        (how, f"{seconds} ({' · '.join(parts)})" if parts else seconds),
        *_detected(launch),
    ]
    heading = f"### 🟢 [Open the preview]({launch.url})"
    foot = "<sub>Every push updates it. `/preview stop` takes it down.</sub>"
    return "\n\n".join([heading, _table(rows), *_notes(launch), foot])


def _under_way(preview: Preview, launch: Launch) -> str:
    heading = f"### 🟡 The preview {_UNDER_WAY.get(launch.phase, 'is queued')} …"
    rows = [("Commit", launch.sha), *_detected(launch)]
    if preview.box and preview.box.url and preview.box.sha != launch.sha:
        rows.append(("Until then", f"<{preview.box.url}> shows {preview.box.sha}"))
    return "\n\n".join([heading, _table(rows)])


def _failed(launch: Launch, failure: Failure) -> str:
    heading = f"### 🔴 The preview failed {_FAILED_WHILE.get(failure.phase, 'while it ran')}"
    parts = [heading, prose(failure.cause)]
    if failure.remedy:
        parts.append(f"**What to do:** {prose(failure.remedy)}")
    parts += [_table([("Commit", launch.sha), *_detected(launch)]), *_notes(launch)]
    if failure.log:
        log = code_block(tail(plain(failure.log)))
        parts.append(f"<details><summary>The last lines of the log</summary>\n\n{log}\n\n</details>")
    parts.append("<sub>A push tries again, and so does `/preview`.</sub>")
    return "\n\n".join(parts)


def _awaiting_approval(launch: Launch) -> str:
    return (
        "### 🔵 The preview waits for a maintainer\n\n"
        "This pull request comes from a fork, so its code runs only when somebody with write permission has looked at "
        f"it. To preview exactly this commit, comment:\n\n```\n/preview {launch.sha}\n```"
    )


def _stopped(reason: StopReason | None) -> str:
    return f"### ⚪ The preview was removed\n\n{_STOPPED[reason or StopReason.OPERATOR]}"


def _stopping() -> str:
    return "### ⚪ The preview is being removed …"


def _detected(launch: Launch) -> list[tuple[str, str]]:
    if not launch.plan:
        return []
    plan = LaunchPlan.model_validate(launch.plan)
    where = "" if plan.root == "." else f" in {inline(plan.root)}"
    return [("Detected", f"{inline(plan.title)}{where}, started with {inline(' '.join(spoken(plan.start)))}")]


def _notes(launch: Launch) -> list[str]:
    return ["\n".join(f"- {prose(note)}" for note in launch.notes)] if launch.notes else []


def _table(rows: list[tuple[str, str]]) -> str:
    return "\n".join(["| | |", "| --- | --- |", *(f"| {name} | {value} |" for name, value in rows)])
