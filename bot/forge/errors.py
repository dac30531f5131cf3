"""GitHub's refusals, each with its status and its body.

Shapes: https://docs.github.com/en/rest/using-the-rest-api/troubleshooting-the-rest-api
"""

from collections.abc import Mapping, Sequence

DOCUMENTATION = "https://docs.github.com/rest"


class Refusal(Exception):
    """An answer of 400 or above. `errors` is what a 422 lists; `headers` go out with the answer."""

    status = 400

    def __init__(
        self,
        message: str,
        *,
        errors: Sequence[Mapping[str, str]] = (),
        headers: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.errors = tuple(dict(error) for error in errors)
        self.headers = dict(headers or {})

    @property
    def body(self) -> dict[str, object]:
        """The JSON body."""
        body: dict[str, object] = {"message": self.message}
        if self.errors:
            body["errors"] = list(self.errors)
        return {**body, "documentation_url": DOCUMENTATION, "status": str(self.status)}


class BadRequest(Refusal):
    """The request cannot be understood."""


class Unauthorized(Refusal):
    """Credentials are missing, wrong or expired."""

    status = 401


class Forbidden(Refusal):
    """The caller is known and may not do this."""

    status = 403


class NotFound(Refusal):
    """There is no such thing, or the caller may not know of it."""

    status = 404

    def __init__(self, message: str = "Not Found") -> None:
        super().__init__(message)


class MethodNotAllowed(Refusal):
    """The thing is not in a state that allows this."""

    status = 405


class Conflict(Refusal):
    """Somebody else's change came first."""

    status = 409


class Unprocessable(Refusal):
    """The request was understood, and a value in it is not acceptable."""

    status = 422

    @classmethod
    def field(cls, resource: str, field: str, code: str = "invalid") -> "Unprocessable":
        """The usual form: one field of one resource is `missing`, `invalid`, `already_exists`, …"""
        return cls("Validation Failed", errors=[{"resource": resource, "field": field, "code": code}])

    @classmethod
    def custom(cls, resource: str, message: str) -> "Unprocessable":
        """The form in which GitHub explains itself in words."""
        return cls("Validation Failed", errors=[{"resource": resource, "code": "custom", "message": message}])
