"""The command in this process: what it prints on each stream, and its exit code."""

import signal
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from bot.cli import main


@dataclass(frozen=True)
class Done:
    """How a command ended."""

    code: int
    out: str
    err: str


Preview = Callable[..., Done]


@pytest.fixture
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The bot's data folder, empty."""
    monkeypatch.setenv("PREVIEW_DATA_DIR", str(tmp_path / "data"))
    return tmp_path / "data"


@pytest.fixture
def preview(data: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Iterator[Preview]:
    """Runs `preview WORDS…`."""
    monkeypatch.setenv("COLUMNS", "200")
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)}

    def run(*words: str) -> Done:
        capsys.readouterr()
        with pytest.raises(SystemExit) as ended:
            main(list(words))
        return Done(int(ended.value.code or 0), *capsys.readouterr())

    yield run
    for number, action in before.items():
        signal.signal(number, action)
