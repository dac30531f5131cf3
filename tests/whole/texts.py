"""The bot's comments as they should read, whole; to be compared with what `Story.plain` makes of a comment."""

MARKER = "<!-- branch-preview REPO#N -->\n"
STATIC = "Static pages, started with python3 -m http.server 8000"
OWN = "Its own command, started with python3 dev-server"


def ready(detected: str, *notes: str, how: str = "Ready", parts: bool = True) -> str:
    """A preview that can be opened."""
    seconds = "N s after the push (PARTS)" if parts else "N s after the push"
    rows = f"| Preview | <URL> |\n| Commit | HEAD |\n| {how} | {seconds} |\n| Detected | {detected} |\n"
    foot = "<sub>Every push updates it. `/preview stop` takes it down.</sub>\n"
    return f"{MARKER}### 🟢 [Open the preview](URL)\n\n| | |\n| --- | --- |\n{rows}\n{_listed(notes)}{foot}"


def under_way(what: str, *rows: str, commit: str = "HEAD") -> str:
    """A launch in progress; `what` ends its heading, `rows` follow the commit's."""
    table = "".join(f"| {row} |\n" for row in (f"Commit | {commit}", *rows))
    return f"{MARKER}### 🟡 The preview {what} …\n\n| | |\n| --- | --- |\n{table}"


def failed(while_: str, cause: str, *notes: str, remedy: str = "", detected: str = "", log: str = "") -> str:
    """A launch that failed; `while_` is the end of the heading."""
    parts = [f"{MARKER}### 🔴 The preview failed {while_}\n\n{cause}\n\n"]
    parts += [f"**What to do:** {remedy}\n\n"] if remedy else []
    parts += ["| | |\n| --- | --- |\n| Commit | HEAD |\n", f"| Detected | {detected} |\n" if detected else "", "\n"]
    parts += [_listed(notes)]
    if log:
        parts += [f"<details><summary>The last lines of the log</summary>\n\n```text\n{log}\n```\n\n</details>\n\n"]
    return "".join([*parts, "<sub>A push tries again, and so does `/preview`.</sub>\n"])


def removed(why: str) -> str:
    """A preview that was taken down."""
    return f"{MARKER}### ⚪ The preview was removed\n\n{why}\n"


CLOSED = removed("The pull request was closed. Reopening it brings the preview back.")
STOPPED = removed("Stopped by a command. `/preview` brings it back.")


def awaiting_approval() -> str:
    """A fork's head that nobody has vouched for."""
    return (
        f"{MARKER}### 🔵 The preview waits for a maintainer\n\nThis pull request comes from a fork, so its code runs "
        "only when somebody with write permission has looked at it. To preview exactly this commit, comment:\n\n"
        "```\n/preview HEAD\n```\n"
    )


def name_the_commit(sha: str) -> str:
    """The answer to an approval of nothing in particular."""
    return f"This pull request comes from a fork: look at {sha}, then comment `/preview {sha}`."


def _listed(notes: tuple[str, ...]) -> str:
    return "".join(f"- {note}\n" for note in notes) + ("\n" if notes else "")
