"""The annexes as processes: how they start, fail, end, and are found again."""

import asyncio
import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from bot import annexes
from bot.annexes import embedded_engine, start, stop_embedded_engine
from bot.errors import OperatorFault, PreviewError, WorldFault
from tests.engine.engine_process import is_alive, wait_until

LISTENS = 'import json, time; print(json.dumps({"url": "http://x", "pid": 1}), flush=True); time.sleep(1000)'


@pytest.fixture
def annex(tmp_path, monkeypatch):
    """Starts a program of these lines as an annex would be."""

    async def launch(program: str) -> annexes.Annex:
        (tmp_path / "an_annex.py").write_text(program)
        return await start(("an_annex",), log=tmp_path / "logs" / "annex.log", env={"PYTHONPATH": str(tmp_path)})

    return launch


async def test_its_first_line_says_where_it_listens_and_stopping_waits_for_its_end(annex):
    running = await annex(LISTENS)
    assert running.url == "http://x"
    await running.stop()
    assert running.process.returncode == -signal.SIGTERM
    await running.stop()


async def test_one_that_does_not_listen_to_reason_is_killed(annex, monkeypatch):
    monkeypatch.setattr(annexes, "STOP_LIMIT_SECONDS", 0.3)
    running = await annex(f"import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN); {LISTENS}")
    await running.stop()
    assert running.process.returncode == -signal.SIGKILL


@pytest.mark.parametrize(("code", "kind"), [(2, OperatorFault), (75, WorldFault), (1, PreviewError)])
async def test_one_that_ends_at_once_is_told_with_its_code_and_last_words(annex, code, kind):
    with pytest.raises(PreviewError) as told:
        await annex(f"import sys; print('the port is taken', file=sys.stderr); sys.exit({code})")
    assert type(told.value) is kind
    assert str(told.value) == f"an_annex ended with code {code}:\nthe port is taken"


async def test_one_that_never_listens_is_ended_and_its_log_is_named(annex, monkeypatch, tmp_path):
    monkeypatch.setattr(annexes, "START_LIMIT_SECONDS", 0.5)
    with pytest.raises(WorldFault, match=r"did not listen within 0.5 s; its log is .*annex.log"):
        await annex("import time; time.sleep(1000)")


async def test_one_that_says_something_else_is_ended(annex):
    with pytest.raises(PreviewError, match="an_annex said 'Welcome!' instead of where it listens"):
        await annex("import time; print('Welcome!', flush=True); time.sleep(1000)")


def test_it_ends_with_us_even_when_we_are_shot(tmp_path):
    (tmp_path / "an_annex.py").write_text(LISTENS)
    program = (
        "import asyncio, pathlib; from bot.annexes import start\n"
        "async def main():\n"
        f"    annex = await start(('an_annex',), log=pathlib.Path({str(tmp_path)!r}) / 'log')\n"
        "    print(annex.process.pid, flush=True)\n"
        "    await asyncio.sleep(1000)\n"
        "asyncio.run(main())\n"
    )
    environment = {**os.environ, "PYTHONPATH": str(tmp_path)}
    with subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, env=environment) as us:
        pid = int(us.stdout.readline())
        assert is_alive(pid)
        us.kill()
    wait_until(lambda: not is_alive(pid))


def bot_asks(data: Path) -> tuple[str, str]:
    """The engine's URL and token, as a bot that starts finds them; then that bot ends."""
    program = (
        "import asyncio, json, pathlib; from bot.annexes import embedded_engine\n"
        f"print(json.dumps(asyncio.run(embedded_engine(pathlib.Path({str(data)!r})))))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    url, token = json.loads(done.stdout)
    return url, token


@pytest.mark.bwrap
def test_the_engine_outlives_the_bot_and_is_found_again(tmp_path, engine):
    first = bot_asks(tmp_path)
    try:
        card = json.loads((tmp_path / "engine.json").read_text())
        assert (tmp_path / "engine.json").stat().st_mode & 0o777 == 0o600
        assert bot_asks(tmp_path) == first
        os.kill(card["pid"], signal.SIGKILL)
        wait_until(lambda: not is_alive(card["pid"]))
        second = bot_asks(tmp_path)
        assert second != first
    finally:
        pid = json.loads((tmp_path / "engine.json").read_text())["pid"]
        assert stop_embedded_engine(tmp_path)
        wait_until(lambda: not is_alive(pid))
    assert not stop_embedded_engine(tmp_path)


async def test_without_an_engine_asking_starts_none_unless_it_may(tmp_path):
    url, _ = await embedded_engine(tmp_path, start=False)
    assert url.startswith("http://127.0.0.1:9/")
    assert not stop_embedded_engine(tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_a_process_that_got_the_engine_s_number_since_is_left_alone(tmp_path):
    with subprocess.Popen(["sleep", "1000"]) as other:
        (tmp_path / "engine.json").write_text(json.dumps({"url": "u", "token": "t", "pid": other.pid}))
        assert not stop_embedded_engine(tmp_path)
        assert other.poll() is None
        other.kill()


@pytest.mark.parametrize("card", ["", "{}", "[]", "nonsense", '{"url": 1}'])
def test_a_card_that_cannot_be_read_counts_as_none(tmp_path, card):
    (tmp_path / "engine.json").write_text(card)
    assert not stop_embedded_engine(tmp_path)
    url, _ = asyncio.run(embedded_engine(tmp_path, start=False))
    assert url.startswith("http://127.0.0.1:9/")
