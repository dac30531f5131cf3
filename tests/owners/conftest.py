"""One forge and one engine for all tests here, and the owners that talk to them."""

import itertools
import secrets
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from dataclasses import dataclass

import pytest

from bot.github import GitHub
from bot.preview import RepoId, RepoName, Repository
from bot.redaction import Redactor
from bot.sandbox import Sandboxes
from bot.settings import Settings
from tests.engine.engine_process import EngineProcess
from tests.forge_driver import AppKeys, ForgeDriver, ForgeProcess, Person, RepositoryDriver

_numbers = itertools.count(1)


@pytest.fixture(scope="session")
def forge_process(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ForgeProcess]:
    running = ForgeProcess.start(tmp_path_factory.mktemp("forge") / "data")
    yield running
    assert running.stop() == 0


@pytest.fixture
async def forge(forge_process: ForgeProcess, tmp_path) -> AsyncIterator[ForgeDriver]:
    async with ForgeDriver(forge_process, tmp_path / "clones") as driver:
        await driver.clear_faults()
        yield driver
        await driver.clear_faults()


@dataclass(frozen=True)
class Shop:
    """A repository with the App installed, in its people's hands and as the bot knows it."""

    driver: RepositoryDriver
    owner: Person
    app: AppKeys
    known: Repository


OpenShop = Callable[..., Awaitable[Shop]]


@pytest.fixture
def open_shop(forge: ForgeDriver) -> OpenShop:
    """Makes a repository with one commit on `main`, and an App with these permissions on it."""

    async def make(*, private: bool = True, people: dict[str, str] | None = None, **granted: str) -> Shop:
        number = next(_numbers)
        owner = await forge.user(f"ada{number}")
        driver = await forge.repository(owner, "shop", private=private, permissions=people)
        app = await forge.app(f"preview{number}", owner=owner, permissions=granted or None)
        installation = await forge.install(app, owner, [driver])
        await driver.push({"README.md": "# Shop\n"})
        known = Repository(RepoId(driver.id), RepoName(driver.full_name), driver.clone_url, private, installation)
        return Shop(driver, owner, app, known)

    return make


@pytest.fixture
async def shop(open_shop: OpenShop) -> Shop:
    return await open_shop()


@pytest.fixture
def redactor() -> Redactor:
    return Redactor()


@pytest.fixture
def as_app(forge: ForgeDriver, redactor: Redactor) -> Iterator[Callable[..., GitHub]]:
    """GitHub as an App sees it, or with these settings instead."""
    opened: list[GitHub] = []

    def connect(app: AppKeys | None, **changes: str) -> GitHub:
        given = {"GITHUB_API_URL": forge.api}
        if app:
            given |= {"GITHUB_APP_ID": str(app.id), "GITHUB_APP_PRIVATE_KEY": app.pem}
        opened.append(GitHub(Settings.read(**{**given, **changes}), redactor))
        return opened[-1]

    yield connect
    for github in opened:
        github.close()


@pytest.fixture
def github(as_app, shop: Shop) -> GitHub:
    return as_app(shop.app)


@pytest.fixture(scope="session")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EngineProcess]:
    process = EngineProcess(tmp_path_factory.mktemp("engine"))
    yield process
    assert process.stop() == 0, process.complaint


@pytest.fixture
async def sandboxes(engine: EngineProcess, redactor: Redactor) -> AsyncIterator[Sandboxes]:
    """Sandboxes of an instance of their own; those that a test leaves are destroyed."""
    instance = f"test-{secrets.token_hex(6)}"
    owner = Sandboxes(engine.url, engine.token, redactor, instance=instance, vcpus=1, time_limit=600)
    yield owner
    for name in await owner.names():
        await owner.destroy(name)
    await owner.close()


@pytest.fixture
def name() -> str:
    """A sandbox's name that no other test uses."""
    return f"preview-{secrets.token_hex(6)}"
