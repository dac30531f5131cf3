"""The database as a whole: its history, and what is said when it does not work."""

import asyncio
import sqlite3
import subprocess
import sys
from contextlib import closing

import pytest
import sqlalchemy as sa
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext

from bot.errors import OperatorFault
from bot.store import Store, StoreUnavailable
from bot.tables import metadata, preview


def test_the_migrations_make_exactly_the_tables(store):
    def differences(db: sa.Connection) -> list:
        return compare_metadata(MigrationContext.configure(db, opts={"compare_server_default": True}), metadata)

    assert store.run_now(differences) == []


def test_a_missing_column_would_be_noticed(store):
    def differences(db: sa.Connection) -> list:
        db.execute(sa.text("ALTER TABLE preview DROP COLUMN held"))
        return compare_metadata(MigrationContext.configure(db), metadata)

    assert [difference[0] for difference in store.run_now(differences)] == ["add_column"]


def test_migrating_again_changes_nothing(store):
    store.migrate()
    assert store.run_now(lambda db: db.execute(sa.select(sa.func.count()).select_from(preview)).scalar()) == 0


MIGRATE = "import sys; from bot.store import Store; store = Store(sys.argv[1]); store.migrate(); store.close()"


def test_bots_that_start_at_the_same_time_migrate_once(url, open_store):
    bots = [subprocess.Popen([sys.executable, "-c", MIGRATE, url]) for _ in range(3)]
    assert [bot.wait(timeout=60) for bot in bots] == [0, 0, 0]
    tables = open_store().run_now(lambda db: set(sa.inspect(db).get_table_names()))
    assert {"delivery", "preview", "launch"} <= tables


async def test_a_transaction_that_raises_leaves_nothing_behind(store):
    def work(db: sa.Connection) -> None:
        db.execute(sa.text("DELETE FROM alembic_version"))
        raise ValueError("on purpose")

    with pytest.raises(ValueError, match="on purpose"):
        await store.run(work)
    assert store.run_now(lambda db: db.execute(sa.text("SELECT count(*) FROM alembic_version")).scalar()) == 1


async def test_a_transaction_does_not_hold_up_the_event_loop(store):
    began, may_end = asyncio.Event(), asyncio.Event()
    loop = asyncio.get_running_loop()

    def work(_: sa.Connection) -> str:
        loop.call_soon_threadsafe(began.set)
        asyncio.run_coroutine_threadsafe(may_end.wait(), loop).result(timeout=20)
        return "done"

    under_way = asyncio.create_task(store.run(work))
    await began.wait()
    may_end.set()
    assert await under_way == "done"


async def test_a_connection_that_broke_meanwhile_is_replaced(postgres_url):
    store = Store(postgres_url)
    pid = await store.run(lambda db: db.execute(sa.text("SELECT pg_backend_pid()")).scalar())
    killer = Store(postgres_url)
    await killer.run(lambda db: db.execute(sa.text(f"SELECT pg_terminate_backend({pid})")))
    assert await store.run(lambda db: db.execute(sa.text("SELECT 1")).scalar()) == 1
    store.close()
    killer.close()


def test_only_a_database_server_is_shared(postgres_url, sqlite_url):
    for url, shared in ((postgres_url, True), (sqlite_url, False)):
        store = Store(url)
        assert store.shared is shared
        store.close()


async def test_a_full_disk_is_the_world_s_fault_and_passes(tmp_path):
    store = Store(f"sqlite:///{tmp_path / 'preview.db'}")
    store.migrate()
    pages = await store.run(lambda db: db.exec_driver_sql("PRAGMA page_count").scalar())
    await store.run(lambda db: db.exec_driver_sql(f"PRAGMA max_page_count = {pages}"))
    row = {"id": "x", "event": "push", "body": bytes(100_000), "received_at": 0, "due_at": 0}
    insert = sa.insert(metadata.tables["delivery"]).values(row)
    with pytest.raises(StoreUnavailable, match="database or disk is full"):
        await store.run(lambda db: db.execute(insert))
    await store.run(lambda db: db.exec_driver_sql("PRAGMA max_page_count = 100000"))
    await store.run(lambda db: db.execute(insert))
    store.close()


async def test_a_database_that_somebody_else_locks_is_the_world_s_fault(tmp_path):
    path = tmp_path / "preview.db"
    store = Store(f"sqlite:///{path}?timeout=0.05")
    store.migrate()
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(StoreUnavailable, match="database is locked"):
            await store.run(lambda db: db.execute(sa.select(preview)))
    store.close()


async def test_a_server_that_is_gone_is_the_world_s_fault_and_at_the_start_the_operator_s():
    store = Store("postgresql+psycopg://bot:hunter2@127.0.0.1:1/preview")
    with pytest.raises(StoreUnavailable, match="does not take this"):
        await store.run(lambda db: None)
    with pytest.raises(OperatorFault, match=r"^PREVIEW_DATABASE_URL: cannot use the database postgresql") as told:
        store.migrate()
    assert "hunter2" not in str(told.value)
    store.close()


@pytest.mark.parametrize("url", ["preview.db", "", "mysql://host/db", "nonsense://x"])
def test_what_is_no_database_url_is_said_to_be_none(url):
    with pytest.raises(OperatorFault, match=r"^PREVIEW_DATABASE_URL: .* is no database URL; write sqlite:///FILE or"):
        Store(url)


def test_a_file_that_is_no_database_names_the_setting(tmp_path):
    (tmp_path / "preview.db").write_text("not a database, but long enough to be taken for one" * 100)
    store = Store(f"sqlite:///{tmp_path / 'preview.db'}")
    with pytest.raises(OperatorFault, match=r"^PREVIEW_DATABASE_URL: cannot use the database .*file is not a database"):
        store.migrate()
    store.close()


def test_a_folder_that_cannot_be_made_names_the_setting(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(OperatorFault, match=r"^PREVIEW_DATA_DIR: cannot make"):
        Store(f"sqlite:///{tmp_path / 'file' / 'preview.db'}")
