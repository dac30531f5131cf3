"""One forge process per test session; each test has people and repositories of its own in it."""

import itertools
from collections.abc import AsyncIterator, Callable, Iterator

import pytest
from github import Auth, Github

from tests.forge.contract import payload_faults
from tests.forge.receiver import Receiver, receiving
from tests.forge_driver import AppKeys, ForgeDriver, ForgeProcess, Person, RepositoryDriver

_numbers = itertools.count(1)


@pytest.fixture(scope="session")
def process(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ForgeProcess]:
    running = ForgeProcess.start(tmp_path_factory.mktemp("forge") / "data")
    yield running
    assert running.stop() == 0


@pytest.fixture
async def forge(process: ForgeProcess, tmp_path) -> AsyncIterator[ForgeDriver]:
    async with ForgeDriver(process, tmp_path / "clones") as driver:
        await driver.clear_faults()
        yield driver
        await driver.clear_faults()


@pytest.fixture
async def ada(forge: ForgeDriver) -> Person:
    """The owner."""
    return await forge.user(f"ada{next(_numbers)}")


@pytest.fixture
async def bob(forge: ForgeDriver) -> Person:
    """Somebody else."""
    return await forge.user(f"bob{next(_numbers)}")


@pytest.fixture
async def shop(forge: ForgeDriver, ada: Person) -> RepositoryDriver:
    """A public repository with one commit on main."""
    repository = await forge.repository(ada, "shop")
    await repository.push({"README.md": "# Shop\n"}, message="First")
    return repository


@pytest.fixture
async def pull(shop: RepositoryDriver) -> int:
    """An open pull request of the shop, from its branch `feature`."""
    await shop.push({"index.html": "<h1>Hello</h1>\n"}, branch="feature", message="Say hello")
    return await shop.open_pull("feature", title="Say hello", body="It is **polite**.")


@pytest.fixture
def hook() -> Iterator[Receiver]:
    with receiving() as receiver:
        yield receiver


@pytest.fixture
def as_user(forge: ForgeDriver) -> Iterator[Callable[[Person | str], Github]]:
    """PyGithub as a person, or with a bare token, without its own pauses."""
    opened: list[Github] = []

    def connect(person: Person | str) -> Github:
        token = person.token if isinstance(person, Person) else person
        pace = {"seconds_between_requests": None, "seconds_between_writes": None}
        opened.append(Github(auth=Auth.Token(token), base_url=forge.api, retry=None, **pace))
        return opened[-1]

    yield connect
    for client in opened:
        client.close()


@pytest.fixture
async def app(forge: ForgeDriver, ada: Person, hook: Receiver) -> AppKeys:
    """An App that subscribes to everything, with `hook` as its receiver."""
    everything = [
        *("pull_request", "issue_comment", "check_run", "push", "repository", "delete", "issues"),
        *("deployment", "deployment_status"),
    ]
    app = await forge.app(f"hooked by {ada.login}", owner=ada, webhook_url=hook.url, events=everything)
    await hook.expect("ping")
    return app


@pytest.fixture
async def installation(forge: ForgeDriver, app: AppKeys, ada: Person, shop: RepositoryDriver, hook: Receiver) -> int:
    """The App on all of the owner's repositories; the receiver has heard of nothing yet."""
    installation = await forge.install(app, ada)
    await hook.expect("installation.created")
    hook.received.clear()
    return installation


@pytest.fixture
def valid(hook: Receiver) -> Iterator[None]:
    """Every payload that GitHub describes is as GitHub describes it."""
    yield
    checked = [(item.event, payload_faults(item.headers["x-github-event"], item.payload)) for item in hook.received]
    assert [(event, faults) for event, faults in checked if faults] == []
