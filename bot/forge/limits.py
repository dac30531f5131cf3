"""The rate limit that answers speak of. It is counted and told, and only a fault ever enforces it.

https://docs.github.com/en/rest/using-the-rest-api/rate-limits-for-the-rest-api
"""

import time
from dataclasses import dataclass

LIMIT = 5000
WINDOW = 3600
"""Seconds after which the count begins again."""


@dataclass(frozen=True, slots=True)
class Rate:
    """How much of an hour's allowance is used; `reset` is in epoch seconds."""

    used: int
    reset: int

    @property
    def remaining(self) -> int:
        """Requests left."""
        return max(LIMIT - self.used, 0)

    def headers(self) -> dict[str, str]:
        """As every answer carries it."""
        return {
            "X-RateLimit-Limit": str(LIMIT),
            "X-RateLimit-Remaining": str(self.remaining),
            "X-RateLimit-Used": str(self.used),
            "X-RateLimit-Reset": str(self.reset),
            "X-RateLimit-Resource": "core",
        }

    def body(self) -> dict[str, int]:
        """As `GET /rate_limit` tells it."""
        return {"limit": LIMIT, "remaining": self.remaining, "used": self.used, "reset": self.reset}


class Rates:
    """One count per set of credentials."""

    def __init__(self) -> None:
        self._rates: dict[str, Rate] = {}

    def peek(self, credentials: str) -> Rate:
        """How things stand, without counting this."""
        rate = self._rates.get(credentials)
        now = int(time.time())
        return rate if rate and rate.reset > now else Rate(0, now + WINDOW)

    def spend(self, credentials: str) -> Rate:
        """Count one request."""
        before = self.peek(credentials)
        self._rates[credentials] = Rate(before.used + 1, before.reset)
        return self._rates[credentials]
