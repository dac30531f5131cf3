"""The owners' forge and engine, and a database of one's own."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from bot.store import Store
from tests.owners.conftest import (  # noqa: F401 - fixtures
    as_app,
    engine,
    forge,
    forge_process,
    github,
    name,
    open_shop,
    redactor,
    sandboxes,
    shop,
)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    store = Store(f"sqlite:///{tmp_path / 'preview.db'}")
    store.migrate()
    yield store
    store.close()
