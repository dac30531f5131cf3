"""Which process works on which workflows, where several share one Postgres: the dead are known by their lock.

Every process holds a session-level advisory lock on its own name for as long as it lives. Whoever obtains a foreign
one knows that its holder is dead. https://www.postgresql.org/docs/current/explicit-locking.html#ADVISORY-LOCKS
"""

import hashlib

import sqlalchemy as sa

from bot.store import Store, StoreUnavailable


class Executors:
    """One connection of its own, which holds the locks. Not through a pooler that shares sessions."""

    def __init__(self, store: Store, name: str) -> None:
        self._store = store
        self.name = name
        self._session: sa.Connection | None = None

    async def join(self) -> None:
        """Take the lock on our own name. Raises StoreUnavailable."""
        self._session = await self._store.session()
        if not await self._try_lock(self.name):
            raise StoreUnavailable(f"another process is called {self.name}")

    async def is_dead(self, name: str) -> bool:
        """Whether nobody holds that name; the caller holds it then. Raises StoreUnavailable when our session is gone:
        others will take our workflows, so this process must end."""
        return await self._try_lock(name)

    async def release(self, name: str) -> None:
        """Give a dead one's name back."""
        await self._ask(sa.func.pg_advisory_unlock(_key(name)))

    async def close(self) -> None:
        """Let go of our name."""
        if self._session is not None:
            await self._store.end(self._session)

    async def _try_lock(self, name: str) -> bool:
        return await self._ask(sa.func.pg_try_advisory_lock(_key(name)))

    async def _ask(self, question: sa.ColumnElement[bool]) -> bool:
        if self._session is None:
            raise StoreUnavailable("join() comes first")
        return await self._store.ask(self._session, question)


def _key(name: str) -> int:
    """A name as the signed 64 bits that an advisory lock is known by."""
    return int.from_bytes(hashlib.sha256(f"branch-preview-executor:{name}".encode()).digest()[:8], "big", signed=True)
