"""Output on disk: whatever arrives in whatever pieces, every reader reads the same."""

import asyncio
import json
import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bot.engine import output as output_module
from bot.engine.output import Output, replay

LIMIT = 1 << 16


async def text_of(records, stream: str) -> str:
    lines = b"".join([chunk async for chunk in records]).splitlines()
    return "".join(record["data"] for record in map(json.loads, filter(None, lines)) if record["stream"] == stream)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(pieces=st.lists(st.tuples(st.sampled_from(["stdout", "stderr"]), st.binary(max_size=40)), max_size=30))
def test_pieces_are_decoded_as_the_whole_would_be(tmp_path: Path, pieces: list[tuple[str, bytes]]) -> None:
    path = tmp_path / "output"
    path.unlink(missing_ok=True)
    output = Output(path, LIMIT)
    for stream, data in pieces:
        output.write(stream, data)
    output.finish()
    for stream in ("stdout", "stderr"):
        whole = b"".join(data for name, data in pieces if name == stream).decode(errors="replace")
        assert asyncio.run(text_of(output.follow(), stream)) == whole
        assert asyncio.run(text_of(replay(path), stream)) == whole


async def test_past_its_limit_a_stream_ends_in_one_marker_and_the_other_goes_on(tmp_path: Path) -> None:
    output = Output(tmp_path / "output", LIMIT)
    for _ in range(100):
        output.write("stdout", b"x" * 1024)
    output.write("stderr", b"still heard")
    output.finish()
    kept = await text_of(output.follow(), "stdout")
    assert kept.startswith("x" * 50_000)
    assert kept.count("not kept") == 1
    assert kept.endswith("not kept]\n")
    assert await text_of(output.follow(), "stderr") == "still heard"


async def test_silence_is_filled_with_empty_lines(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(output_module, "_HEARTBEAT", 0.01)
    output = Output(tmp_path / "output", LIMIT)
    reader = output.follow()
    assert await anext(reader) == b"\n"
    output.write("stdout", b"x")
    while (chunk := await anext(reader)) == b"\n":
        pass
    assert json.loads(chunk) == {"stream": "stdout", "data": "x"}
    output.finish()
    await reader.aclose()


async def test_on_a_full_disk_what_was_kept_stays_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    output = Output(tmp_path / "output", LIMIT)
    output.write("stdout", b"kept")
    real = os.write
    monkeypatch.setattr(os, "write", lambda descriptor, data: real(descriptor, data[:5]))
    output.write("stdout", b"half written")
    monkeypatch.undo()
    output.write("stdout", b"too late")
    output.finish()
    assert await text_of(output.follow(), "stdout") == "kept"
