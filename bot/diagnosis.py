"""What a failed command's output says about its cause: known signs -> one sentence of remedy. Pure."""

import re

from bot.errors import GitHubUnavailable, PreviewError, SourceUnavailable

_LOCKFILE_MISMATCH = re.compile(
    r"ERR_PNPM_OUTDATED_LOCKFILE|npm ci. can only install packages when your package\.json and package-lock"
    r"|lockfile needs to be updated, but .{0,20}--frozen-lockfile"
    r"|lockfile would have been (?:created|modified) by this install"
    r"|The lockfile at .uv\.lock. needs to be updated|poetry\.lock is not up to date"
    r"|pyproject\.toml changed significantly since poetry\.lock|Pipfile\.lock \(\w+\) is out of date"
    r"|lockfile had changes, but lockfile is frozen",
    re.IGNORECASE,
)

_REMEDIES = (
    (r"EBADENGINE|Unsupported engine|requires Node\.js|requires a different Python|No matching distribution found",
     "The repository asks for another runtime or version than the sandbox has; name one that it has in its manifest."),
    (r"ENOSPC|No space left on device", "The disk of the sandbox is full: install less, or give it more room."),
    (r"JavaScript heap out of memory|MemoryError|Cannot allocate memory",
     "It ran out of memory: give the sandbox more, or make the app need less."),
    (r"EADDRINUSE|Address already in use", "Something listens on its port already: let it listen on `PORT`."),
    (r"ERESOLVE", "The dependencies contradict each other: mend the manifest, or commit a lockfile."),
    (r"(?:command )?not found|ENOENT.{0,200}spawn|No such file or directory: '",
     "A tool that the command needs is not in the sandbox: add it to the repository's dependencies."),
    (r"ModuleNotFoundError|Cannot find (?:module|package)|ERR_MODULE_NOT_FOUND",
     "A dependency is imported and not installed: add it to the manifest."),
    (r"ENOTFOUND|EAI_AGAIN|Could not resolve host|Temporary failure in name resolution",
     "A host name could not be resolved: the network policy may forbid it, or the host does not exist."),
    (r"node-gyp|gcc.{0,200}not found|Python\.h: No such file",
     "A native extension could not be compiled: prefer a version that ships a prebuilt one."),
)  # fmt: skip

_NO_SUCH_COMMIT = re.compile(r"not our ref|couldn't find remote ref|repository .{0,300}not found", re.IGNORECASE)
_TRY_AGAIN = re.compile(
    r"returned error: (?:429|5\d\d)|could not resolve host|failed to connect|couldn't connect|timed? ?out|early EOF"
    r"|RPC failed|hung up|connection (?:was )?reset|empty reply|took longer than",
    re.IGNORECASE,
)


def fetch_failure(message: str) -> PreviewError | None:
    """What git's words about a fetch that failed mean: the commit's fault, or the way's to it, which may get better.

    None when they hold no known sign. Credentials travel in a header, so that the words hold none.
    """
    if _NO_SUCH_COMMIT.search(message):
        return SourceUnavailable("GitHub does not have this commit any more.")
    if _TRY_AGAIN.search(message):
        return GitHubUnavailable(f"git cannot fetch: {message.strip()[-300:]}")
    return None


def lockfile_mismatch(log: str) -> bool:
    """Whether an install failed because the lockfile does not match its manifest, and for no other reason."""
    return _LOCKFILE_MISMATCH.search(log) is not None


def remedy(log: str) -> str:
    """What would mend the failure, in one sentence; empty when no known sign is found."""
    return next((text for sign, text in _REMEDIES if re.search(sign, log, re.IGNORECASE)), "")
