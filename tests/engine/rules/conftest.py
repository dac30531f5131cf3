"""An engine whose ways out all lead into a small internet of the tests' own."""

import shutil
from collections.abc import AsyncIterator, Iterator

import pytest
from engine_process import EngineProcess
from rule_world import RuleWorld


@pytest.fixture(scope="session")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RuleWorld]:
    world = RuleWorld(tmp_path_factory.mktemp("world"))
    yield world
    world.close()


@pytest.fixture(scope="session")
def engine(world: RuleWorld, tmp_path_factory: pytest.TempPathFactory) -> Iterator[EngineProcess]:
    """An engine of its own: all its ways out lead through the proxy, into the small internet."""
    data = tmp_path_factory.mktemp("rules")
    environment = {"SSL_CERT_FILE": str(world.certificates)}
    process = EngineProcess(data, "--egress-proxy", world.proxy.url, env=environment)
    yield process
    assert process.stop() == 0, process.complaint
    shutil.rmtree(data)


@pytest.fixture(autouse=True)
async def asked(world: RuleWorld) -> AsyncIterator[None]:
    for each in (world.secure, world.plain):
        each.asked.clear()
        each.gate.clear()
    yield
    for each in (world.secure, world.plain):
        each.gate.set()
