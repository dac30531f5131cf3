"""What can be wrong in the engine.

ApiError                the caller is told: status, code and a sentence
EngineError             the operator is told
├── IsolationError      sandboxes cannot be isolated on this machine; carries the remedy
├── LaunchError         one sandbox did not come up
└── DataFolderInUse     another engine works on the same data folder
AgentGone               PID 1 of a sandbox ended while somebody waited for it
"""


class ApiError(Exception):
    """An answer that is not a success, in the Sandbox API's shape: `{"error": {"code", "message"}}`."""

    def __init__(self, status: int, code: str, message: str) -> None:
        super().__init__(message)
        self.status, self.code, self.message = status, code, message


def bad_request(message: str, code: str = "bad_request") -> ApiError:
    return ApiError(400, code, message)


def not_found(what: str) -> ApiError:
    return ApiError(404, "not_found", f"{what} not found")


def sandbox_stopped(session_id: str) -> ApiError:
    """410 makes the SDK resume the sandbox and repeat its call."""
    return ApiError(410, "sandbox_stopped", f"session {session_id} is not running")


class EngineError(Exception):
    """Something the operator of the engine has to know."""


class IsolationError(EngineError):
    """This machine cannot isolate a sandbox: `reason` says what failed, `remedy` what to do about it."""

    def __init__(self, reason: str, remedy: str) -> None:
        super().__init__(f"{reason}\n{remedy}")
        self.reason, self.remedy = reason, remedy


class LaunchError(EngineError):
    """A sandbox did not come up; the text is what bubblewrap or the kernel said."""


class DataFolderInUse(EngineError):
    """Another engine holds the lock on the data folder."""


class AgentGone(Exception):
    """The sandbox's PID 1 is no longer there to answer."""
