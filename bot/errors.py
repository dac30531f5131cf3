"""The exception tree. Whose fault it is decides what happens next.

PreviewError
 ├─ RepositoryFault      the repository's: told in the comment, with a cause and a remedy
 │   ├─ SourceUnavailable    the commit cannot be cloned or fetched
 │   ├─ NothingToPreview     no way to start this repository was found
 │   ├─ CommandFailed        install, setup or build exited with an error
 │   ├─ ServerExited         the dev server ended by itself
 │   └─ NeverReady           the dev server runs and does not answer as the app
 ├─ WorldFault           the world's: retried, and only then told (exit code 75)
 │   ├─ GitHubUnavailable    GitHub refuses, limits or does not answer
 │   └─ SandboxUnavailable   the Sandbox API refuses, limits or does not answer
 ├─ OperatorFault        the configuration's: told loudly, names the setting and the fix (exit code 2)
 └─ Superseded           a newer launch took over; nobody's fault
"""

from collections.abc import Sequence


class PreviewError(Exception):
    """The root of everything that this project raises on purpose."""


class RepositoryFault(PreviewError):
    """The repository's own fault: shown to its people, never retried.

    `cause` and `remedy` are one plain sentence each (the remedy may be empty); `log` is the tail of what the
    failing command printed, already masked, at most a few kB.
    """

    def __init__(self, cause: str, *, remedy: str = "", log: str = "") -> None:
        super().__init__(cause)
        self.cause = cause
        self.remedy = remedy
        self.log = log


class SourceUnavailable(RepositoryFault):
    """The commit could not be cloned or fetched."""


class NothingToPreview(RepositoryFault):
    """No way to start this repository was found. `looked_at` lists the files that were considered."""

    def __init__(self, cause: str, *, remedy: str = "", looked_at: Sequence[str] = ()) -> None:
        super().__init__(cause, remedy=remedy)
        self.looked_at = tuple(looked_at)


class CommandFailed(RepositoryFault):
    """An install, setup or build command exited with an error, or ran out of time (`exit_code` None)."""

    def __init__(self, cause: str, *, exit_code: int | None, remedy: str = "", log: str = "") -> None:
        super().__init__(cause, remedy=remedy, log=log)
        self.exit_code = exit_code


class ServerExited(RepositoryFault):
    """The dev server ended by itself, with `exit_code`, before it was ready."""

    def __init__(self, cause: str, *, exit_code: int, remedy: str = "", log: str = "") -> None:
        super().__init__(cause, remedy=remedy, log=log)
        self.exit_code = exit_code


class NeverReady(RepositoryFault):
    """The dev server runs, but its URL never answered as the app within the time allowed."""


class WorldFault(PreviewError):
    """Not ours and not the repository's: worth another try, after `retry_after` seconds if that is known."""

    def __init__(self, message: str, *, retry_after: float | None = None) -> None:
        super().__init__(message)
        self.retry_after = retry_after


class GitHubUnavailable(WorldFault):
    """GitHub refused, limited or did not answer."""


class SandboxUnavailable(WorldFault):
    """The Sandbox API refused, limited or did not answer."""


class SandboxGone(SandboxUnavailable):
    """The sandbox does not exist, or its session has ended and there is nothing to resume it from."""


class OperatorFault(PreviewError):
    """The configuration is wrong. The message names the setting or the file, and the fix."""


class Superseded(PreviewError):
    """This launch is no longer the wanted one."""
