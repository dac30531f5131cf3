"""Pages of a list that changes while it is read: a cursor says after which item to go on, not how many to skip."""

import base64
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from bot.engine.errors import bad_request

Item = TypeVar("Item")
Key = tuple[int | str, str]  # what the list is sorted by, then something unique
MOST_ITEMS, USUAL_ITEMS = 50, 20


@dataclass(frozen=True, slots=True)
class Page(Generic[Item]):
    """`following` is the cursor of the next page, none after the last."""

    items: Sequence[Item]
    following: str | None


def cut_page(
    items: Sequence[Item], key: Callable[[Item], Key], *, descending: bool, limit: int | None, cursor: str | None
) -> Page[Item]:
    """Raises `ApiError` 400 for a cursor that is not ours."""
    ordered = sorted(items, key=key, reverse=descending)
    if cursor is not None:
        last = _read(cursor)
        try:
            ordered = [item for item in ordered if (key(item) < last if descending else key(item) > last)]
        except TypeError as error:
            raise bad_request("the cursor belongs to another order") from error
    size = max(1, min(limit or USUAL_ITEMS, MOST_ITEMS))
    page = ordered[:size]
    return Page(page, _write(key(page[-1])) if len(ordered) > size else None)


def _write(key: Key) -> str:
    return base64.urlsafe_b64encode(json.dumps(key).encode()).decode()


def _read(cursor: str) -> Key:
    try:
        value, unique = json.loads(base64.urlsafe_b64decode(cursor))
    except (ValueError, TypeError) as error:
        raise bad_request("not a cursor of this list") from error
    return value, unique
