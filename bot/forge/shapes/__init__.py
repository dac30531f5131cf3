"""GitHub's JSON objects, drawn by pure functions from the state. One module per noun.

The fields and their order of precedence follow GitHub's OpenAPI description; the tests validate every answer by it.
"""

import base64
from datetime import datetime
from typing import Any

Json = dict[str, Any]


def node_id(kind: str, number: int) -> str:
    """A global node id: opaque to callers, stable for one object."""
    return base64.b64encode(f"{len(kind):03}:{kind}{number}".encode()).decode()


def stamp(moment: datetime) -> str:
    """A time as GitHub writes it."""
    return moment.strftime("%Y-%m-%dT%H:%M:%SZ")


def stamp_or_none(moment: datetime | None) -> str | None:
    """A time as GitHub writes it, or null."""
    return stamp(moment) if moment else None
