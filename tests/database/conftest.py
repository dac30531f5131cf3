"""Stores on both databases: every test that asks for `store` runs twice."""

import itertools
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import sqlalchemy as sa

from bot.settings import Settings
from bot.store import Store

_numbers = itertools.count(1)


@pytest.fixture
def postgres_url(postgres: str) -> str:
    """An empty database of the test's own; it goes when the server goes."""
    name = f"test{next(_numbers)}"
    engine = sa.create_engine(Settings(database_url=postgres).database, isolation_level="AUTOCOMMIT")
    with engine.connect() as connection:
        connection.execute(sa.text(f"CREATE DATABASE {name}"))
    engine.dispose()
    url = sa.make_url(postgres).set(database=name).render_as_string(hide_password=False)
    return Settings(database_url=url).database


@pytest.fixture
def sqlite_url(tmp_path: Path) -> str:
    return f"sqlite:///{tmp_path / 'preview.db'}"


@pytest.fixture(params=["sqlite", "postgres"])
def url(request: pytest.FixtureRequest) -> str:
    found: str = request.getfixturevalue(f"{request.param}_url")
    return found


OpenStore = Callable[[], Store]


@pytest.fixture
def open_store(url: str) -> Iterator[OpenStore]:
    """Opens the database once more, as another process would."""
    opened: list[Store] = []

    def open_it() -> Store:
        opened.append(Store(url))
        return opened[-1]

    yield open_it
    for store in opened:
        store.close()


@pytest.fixture
def store(open_store: OpenStore) -> Store:
    store = open_store()
    store.migrate()
    return store
