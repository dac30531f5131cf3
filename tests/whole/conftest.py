"""One town per test session; each test has people and a repository of its own in it."""

from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from tests.whole.town import Town, open_town


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def session_town(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Town]:
    async with open_town(tmp_path_factory.mktemp("town")) as running:
        yield running


@pytest_asyncio.fixture(loop_scope="session")
async def town(session_town: Town) -> AsyncIterator[Town]:
    """The town; faults that a test asked for do not outlive it."""
    yield session_town
    await session_town.forge.clear_faults()
