"""The database: previews, launches and deliveries. Every public method is one transaction."""

import asyncio
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

import sqlalchemy as sa
from alembic import command
from alembic.config import Config

from bot.errors import OperatorFault, WorldFault

T = TypeVar("T")

BUSY_SECONDS = 30
"""How long SQLite waits for another writer, unless the URL says `?timeout=SECONDS`."""
_MIGRATION_LOCK = 0x70726576
"""Any number will do, as long as nobody else locks it in the same database."""


class StoreUnavailable(WorldFault):
    """The database does not answer, is locked, or its disk is full."""


class Store:
    """Owns the engine and the threads that use it: a transaction never blocks the event loop.

    The threads are our own, because DBOS shuts the loop's default ones when it ends.
    """

    def __init__(self, url: str) -> None:
        self.url = url
        self._engine = _open(url)
        self._threads = ThreadPoolExecutor(4, thread_name_prefix="store")

    @property
    def shared(self) -> bool:
        """Whether other processes may work on the same database: not with SQLite, whose file belongs to one bot."""
        return self._engine.dialect.name != "sqlite"

    def migrate(self) -> None:
        """Bring the tables up to date. Raises OperatorFault when the database cannot be used at all."""
        config = Config()
        config.set_main_option("script_location", str(Path(__file__).parent / "migrations"))
        try:
            with self._engine.begin() as connection:
                if self.shared:  # bots that start at the same time migrate one after the other
                    connection.execute(sa.select(sa.func.pg_advisory_xact_lock(_MIGRATION_LOCK)))
                config.attributes["connection"] = connection
                command.upgrade(config, "head")
        except sa.exc.SQLAlchemyError as error:
            raise OperatorFault(
                f"PREVIEW_DATABASE_URL: cannot use the database {self._engine.url.render_as_string()}: "
                f"{_reason(error)}. Check that it runs, that the address is right and that its disk has room."
            ) from None

    async def run(self, work: Callable[[sa.Connection], T]) -> T:
        """Run `work` in one transaction, off the event loop. Raises StoreUnavailable."""
        return await asyncio.get_running_loop().run_in_executor(self._threads, self.run_now, work)

    def run_now(self, work: Callable[[sa.Connection], T]) -> T:
        """Run `work` in one transaction, here and now: for commands that have no event loop."""
        with _translated(), self._engine.begin() as connection:
            return work(connection)

    async def session(self) -> sa.Connection:
        """A connection of one's own, outside any transaction. Raises StoreUnavailable."""
        return await self._in_thread(lambda: self._engine.connect().execution_options(isolation_level="AUTOCOMMIT"))

    async def ask(self, session: sa.Connection, question: sa.ColumnElement[bool]) -> bool:
        """The answer to one yes-or-no question on such a connection. Raises StoreUnavailable."""
        return await self._in_thread(lambda: bool(session.execute(sa.select(question)).scalar_one()))

    async def end(self, session: sa.Connection) -> None:
        """Give such a connection up, with the locks that it holds."""
        await self._in_thread(session.invalidate)

    async def _in_thread(self, work: Callable[[], T]) -> T:
        def translated() -> T:
            with _translated():
                return work()

        return await asyncio.get_running_loop().run_in_executor(self._threads, translated)

    def close(self) -> None:
        """Wait for transactions under way, then let go of the database."""
        self._threads.shutdown(wait=True)
        self._engine.dispose()


def now() -> float:
    """Seconds since the epoch."""
    return time.time()


def _open(url: str) -> sa.Engine:
    try:
        parsed = sa.make_url(url)
    except sa.exc.ArgumentError:
        raise _no_database(url) from None
    if parsed.get_backend_name() == "postgresql":
        return sa.create_engine(parsed, pool_pre_ping=True, pool_size=8)
    if parsed.get_backend_name() != "sqlite":
        raise _no_database(parsed.render_as_string())
    make_private(url)
    engine = sa.create_engine(parsed.set(query={"timeout": str(BUSY_SECONDS), **parsed.query}))
    sa.event.listen(engine, "connect", _tune_sqlite)
    sa.event.listen(engine, "begin", _begin_sqlite)
    return engine


def make_private(url: str) -> None:
    """Make the empty file of an SQLite URL, if there is none: only its owner reads what private repositories hold.

    SQLite gives its journals the same mode. Raises OperatorFault.
    """
    parsed = sa.make_url(url)
    if parsed.get_backend_name() != "sqlite" or not parsed.database or parsed.database.startswith((":", "file:")):
        return
    file = Path(parsed.database)
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        if not file.exists():
            file.touch(mode=0o600)
    except OSError as error:
        raise OperatorFault(f"PREVIEW_DATA_DIR: cannot make {error.filename or file}: {error.strerror}") from None


def _no_database(url: str) -> OperatorFault:
    return OperatorFault(
        f"PREVIEW_DATABASE_URL: {url!r} is no database URL; write sqlite:///FILE or postgresql://USER@HOST/NAME"
    )


def _tune_sqlite(connection: Any, _record: object) -> None:
    """Readers beside one writer, and a commit that survives a power cut: https://www.sqlite.org/wal.html"""
    connection.isolation_level = None  # the driver must not begin transactions of its own, see _begin_sqlite
    for pragma in ("journal_mode=WAL", "synchronous=FULL", "foreign_keys=ON"):
        connection.execute(f"PRAGMA {pragma}")


def _begin_sqlite(connection: sa.Connection) -> None:
    """Take the write lock first: a transaction that reads, decides and writes must not lose its ground in between."""
    connection.exec_driver_sql("BEGIN IMMEDIATE")


@contextmanager
def _translated() -> Iterator[None]:
    try:
        yield
    except (sa.exc.OperationalError, sa.exc.InterfaceError, sa.exc.TimeoutError) as error:
        raise StoreUnavailable(f"the database does not take this: {_reason(error)}") from error


def _reason(error: sa.exc.SQLAlchemyError) -> str:
    original = getattr(error, "orig", None)
    return str(original or error).strip().split("\n")[0]
