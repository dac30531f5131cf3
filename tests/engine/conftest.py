"""One engine for all tests of a run, and the unmodified SDK to talk to it."""

import contextlib
import shutil
import socket
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from engine_git_server import GitServer, Repository
from engine_process import EngineProcess
from vercel.sandbox import Sandbox, SandboxApiError, SandboxClient

MakeSandbox = Callable[..., Awaitable[Sandbox]]


@pytest.fixture(scope="session")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EngineProcess]:
    data = tmp_path_factory.mktemp("engine")
    process = EngineProcess(data)
    yield process
    assert process.stop() == 0, process.complaint
    shutil.rmtree(data)


@pytest.fixture
async def client(engine: EngineProcess) -> AsyncIterator[SandboxClient]:
    client = engine.client()
    yield client
    await client.aclose()


@pytest.fixture
async def make_sandbox(client: SandboxClient) -> AsyncIterator[MakeSandbox]:
    """Create sandboxes that do not persist; they are destroyed after the test."""
    made: list[Sandbox] = []

    async def make(**options: Any) -> Sandbox:
        name = f"test-{uuid4().hex[:12]}"
        sandbox = await client.create_sandbox(**{"name": name, "persistent": False, **options})
        made.append(sandbox)
        return sandbox

    yield make
    for sandbox in made:
        with contextlib.suppress(SandboxApiError):
            await sandbox.destroy()


@pytest.fixture
async def sandbox(make_sandbox: MakeSandbox) -> Sandbox:
    return await make_sandbox()


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    """`/app` on the git server."""
    (tmp_path / "repositories").mkdir()
    return Repository(tmp_path / "repositories" / "app")


@pytest.fixture
def git_server(repository: Repository) -> Iterator[GitServer]:
    server = GitServer(repository.path.parent)
    yield server
    server.close()


@pytest.fixture
def private_git_server(repository: Repository) -> Iterator[GitServer]:
    server = GitServer(repository.path.parent, password="hunter2-the-token")
    yield server
    server.close()


@pytest.fixture(scope="session")
def registry() -> str:
    """The npm registry's name; tests that need it are skipped on a machine that cannot reach it."""
    name = "registry.npmjs.org"
    try:
        socket.create_connection((name, 443), 10).close()
    except OSError as error:
        pytest.skip(f"{name} cannot be reached: {error}")
    return name
