"""The runs of this process: cut short at once when a newer decision is made, and waited for until they are over.

DBOS cancels a workflow wherever it runs, but notices within a second. Here, in the same process, it is immediate and
exact: the newer run begins when the older one has let go.
"""

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

from bot.errors import Superseded

T = TypeVar("T")


class Runs:
    """Which generation of which preview is being worked on right now."""

    def __init__(self) -> None:
        self._active: dict[tuple[int, int], set[asyncio.Task[Any]]] = {}
        self._overtaken: set[asyncio.Task[Any]] = set()
        self._firm: set[asyncio.Task[Any]] = set()

    async def guard(self, preview_id: int, generation: int, work: Coroutine[Any, Any, T], *, firm: bool = False) -> T:
        """Do `work` for a generation. Raises Superseded when a newer one overtakes it, unless it is `firm`."""
        task = asyncio.create_task(work)
        key = (preview_id, generation)
        self._active.setdefault(key, set()).add(task)
        task.add_done_callback(lambda done: self._forget(key, done))
        if firm:
            self._firm.add(task)
        try:
            return await task
        except asyncio.CancelledError:
            if task in self._overtaken:
                raise Superseded(f"launch {generation} was overtaken") from None
            if not task.done():
                task.cancel()
                await asyncio.wait({task})
            raise
        finally:
            self._overtaken.discard(task)

    def overtake(self, preview_id: int, generation: int) -> None:
        """Cut short whatever works for an older generation of this preview."""
        for (preview, older), tasks in self._active.items():
            if preview == preview_id and older < generation:
                for task in tasks - self._firm:
                    self._overtaken.add(task)
                    task.cancel()

    async def settled(self, preview_id: int, generation: int) -> None:
        """Wait until nothing works for an older generation of this preview."""
        while older := [t for (p, g), ts in self._active.items() if p == preview_id and g < generation for t in ts]:
            await asyncio.wait(older)

    def _forget(self, key: tuple[int, int], task: asyncio.Task[Any]) -> None:
        tasks = self._active.get(key, set())
        tasks.discard(task)
        self._firm.discard(task)
        if not tasks:
            self._active.pop(key, None)
