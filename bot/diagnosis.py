"""What a failed command's output says about its cause: known signs -> one sentence of remedy. Pure."""

import re

_LOCKFILE_MISMATCH = re.compile(
    r"ERR_PNPM_OUTDATED_LOCKFILE|npm ci. can only install packages when your package\.json and package-lock"
    r"|lockfile needs to be updated, but .?--frozen-lockfile"
    r"|lockfile would have been (?:created|modified) by this install"
    r"|The lockfile at .uv\.lock. needs to be updated|poetry\.lock.{0,60}(?:changed|not up to date)"
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
    (r"(?:command )?not found|ENOENT.*spawn|No such file or directory: '",
     "A tool that the command needs is not in the sandbox: add it to the repository's dependencies."),
    (r"ModuleNotFoundError|Cannot find (?:module|package)|ERR_MODULE_NOT_FOUND",
     "A dependency is imported and not installed: add it to the manifest."),
    (r"ENOTFOUND|EAI_AGAIN|Could not resolve host|Temporary failure in name resolution",
     "A host name could not be resolved: the network policy may forbid it, or the host does not exist."),
    (r"node-gyp|gcc.*not found|Python\.h: No such file",
     "A native extension could not be compiled: prefer a version that ships a prebuilt one."),
)  # fmt: skip


def lockfile_mismatch(log: str) -> bool:
    """Whether an install failed because the lockfile does not match its manifest, and for no other reason."""
    return _LOCKFILE_MISMATCH.search(log) is not None


def remedy(log: str) -> str:
    """What would mend the failure, in one sentence; empty when no known sign is found."""
    return next((text for sign, text in _REMEDIES if re.search(sign, log, re.IGNORECASE)), "")
