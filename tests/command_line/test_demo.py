"""How the demo tells what happens, and how it refuses what it cannot show."""

import json
import os
import signal
import subprocess
import sys

import pytest

from bot.demo import Narrator, _url
from bot.errors import PreviewError
from bot.stage import for_a_terminal


async def test_for_a_program_every_event_is_one_json_object_a_line(capsys):
    narrator = Narrator(as_json=True)
    async with narrator.waiting("Waiting …"):
        narrator.tell("pushed", "Pushed [bold]it[/bold]", sha="a" * 40)
    narrator.tell("done", "Done", ok=True)
    told = capsys.readouterr()
    first, last = map(json.loads, told.out.splitlines())
    assert (first["event"], first["sha"], last["event"], last["ok"]) == ("pushed", "a" * 40, "done", True)
    assert 0 <= first["t"] <= last["t"]
    assert told.err == ""


async def test_for_a_person_it_is_words_and_no_markup(capsys):
    narrator = Narrator(as_json=False)
    async with narrator.waiting("Waiting …"):
        narrator.tell("pushed", "Pushed [bold]it[/bold]", sha="a" * 40)
    told = capsys.readouterr()
    assert told.out.rstrip("\n").endswith(" s  Pushed it")
    assert "aaaa" not in told.out


def test_the_url_is_read_from_the_comment_as_a_person_would():
    assert _url("### 🟢 [Open the preview](http://127.0.0.1:4000)\n\nmore") == "http://127.0.0.1:4000"
    with pytest.raises(PreviewError, match="the comment holds no URL"):
        _url("### 🟡 The preview is queued …")


@pytest.mark.parametrize("command", [("demo", "--repo"), ("up",)])
def test_what_cannot_be_shown_is_told_before_anything_starts(preview, command, tmp_path):
    (tmp_path / "site").mkdir()
    done = preview(*command, str(tmp_path / "site"), "--ref", "v1")
    assert (done.code, done.out) == (2, "")
    assert done.err.startswith("preview: --ref v1: ")


def test_a_failure_is_told_as_a_terminal_can_show_it():
    comment = (
        "<!-- branch-preview 1#1 -->\n### 🔴 The preview failed while installing\n\nexit code 1&#58; `npm ci`\n\n"
        "| | |\n| --- | --- |\n| Commit | abc |\n\n<details><summary>The last lines of the log</summary>\n\n"
        "```text\nno such package\n```\n\n</details>\n\n<sub>A push tries again.</sub>\n"
    )
    assert for_a_terminal(comment) == (
        "### 🔴 The preview failed while installing\n\nexit code 1: `npm ci`\n\n| Commit | abc |\n\n"
        "The last lines of the log:\n\n```text\nno such package\n```"
    )


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT])
def test_a_scripts_background_job_ends_when_it_is_asked_to(number, tmp_path):
    """A shell without job control starts `preview up … &` with SIGINT ignored."""
    ignoring = (
        "import os, signal, sys; signal.signal(signal.SIGINT, signal.SIG_IGN); os.execv(sys.argv[1], sys.argv[1:])"
    )
    words = (sys.executable, "-c", ignoring, sys.executable, "-m", "bot", "demo", "--json")
    environment = os.environ | {"TMPDIR": str(tmp_path)}
    with subprocess.Popen(words, stdout=subprocess.PIPE, env=environment, text=True) as process:
        assert json.loads(process.stdout.readline())["event"] == "subject"
        process.send_signal(number)
        assert "done" not in process.stdout.read()
    assert process.returncode == 130
    assert list(tmp_path.iterdir()) == []
