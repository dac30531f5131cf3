"""How the demo tells what happens, and how it refuses what it cannot show."""

import json

import pytest

from bot.demo import Narrator, _url
from bot.errors import PreviewError


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
