"""Snapshots when things go wrong: the engine dies, the disk is full, the kernel mounts no overlay."""

import asyncio
import json
import subprocess
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from itertools import count
from pathlib import Path

import pytest
from engine_process import EngineProcess
from vercel.sandbox import Sandbox, SnapshotSource

from bot.engine.errands import run_errand
from bot.engine.errors import LaunchError
from bot.engine.layers import Layers
from bot.engine.overlay import Overlay
from bot.engine.records import Layer, save
from bot.engine.sandbox import Sandbox as EngineSandbox
from bot.engine.sandboxes import Sandboxes
from bot.engine.server import open_engine
from bot.engine.settings import Settings
from bot.engine.storage import SandboxFolder
from bot.engine.wire import CreateBody


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 48 MB."""
    place = tmp_path / "small"
    place.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=48m", "tmpfs", place], check=False, capture_output=True
    )
    if mounted.returncode:
        pytest.skip(f"this machine does not let us mount a small disk: {mounted.stderr.decode()}")
    yield place
    subprocess.run(["umount", "--lazy", place], check=True)


@asynccontextmanager
async def engine_here(data: Path, **settings: int) -> AsyncIterator[Sandboxes]:
    async with open_engine(Settings(data, **settings), "127.0.0.1") as (sandboxes, _):
        yield sandboxes


async def run(sandbox: EngineSandbox, script: str) -> str:
    await sandbox.begin_session()
    words = ["sh", "-c", script]
    owner = sandbox.workshop.owner
    return (await run_errand(sandbox.box.guest, words, owner=owner, cwd="/vercel/sandbox", env={})).output


def from_snapshot(snapshot_id: str) -> CreateBody:
    return CreateBody.model_validate({"source": {"type": "snapshot", "snapshotId": snapshot_id}})


@pytest.mark.bwrap
async def test_snapshots_survive_that_the_engine_is_killed(tmp_path: Path) -> None:
    first = EngineProcess(tmp_path)
    client = first.client()
    sandbox = await client.create_sandbox(name="kept", persistent=True)
    await sandbox.fs.write_text("file", "first")
    snapshot = await sandbox.snapshot()
    await sandbox.fs.write_text("file", "not in the snapshot")
    await asyncio.to_thread(first.kill)
    await client.aclose()
    second = EngineProcess(tmp_path)
    client = second.client()
    child = await client.create_sandbox(source=SnapshotSource(snapshot_id=snapshot.id))
    assert await child.fs.read_text("file") == "first"
    again: Sandbox = await client.get_sandbox(name="kept")
    assert await again.fs.read_text("file") == "not in the snapshot"
    await client.aclose()
    assert await asyncio.to_thread(second.stop) == 0


@pytest.mark.bwrap
@pytest.mark.parametrize("moved", [False, True])
async def test_a_snapshot_that_a_crash_interrupted_is_finished(tmp_path: Path, moved: bool) -> None:
    async with engine_here(tmp_path) as sandboxes:
        sandbox = await sandboxes.create(CreateBody(name="one"))
        await run(sandbox, "echo kept > file")
        running, folder = sandbox.record, sandbox.folder
        snapshot = await sandbox.snapshot(sandbox.record.session.id, None)
    save(folder.record, running)
    if not moved:
        (tmp_path / "layers" / snapshot.layers[0].id).rename(folder.disk)
    async with engine_here(tmp_path) as sandboxes:
        sandbox = sandboxes.get("one")
        assert sandbox.record.current_snapshot == snapshot.id
        assert await run(sandbox, "cat file") == "kept\n"


@pytest.mark.bwrap
async def test_a_snapshot_that_the_machine_s_end_may_have_damaged_is_given_up(tmp_path: Path) -> None:
    async with engine_here(tmp_path) as sandboxes:
        sandbox = await sandboxes.create(CreateBody(name="one"))
        snapshot = await sandbox.snapshot(sandbox.record.session.id, None)
        await until(lambda: sandboxes.snapshots.get(snapshot.id).boot is None)
    file = tmp_path / "snapshots" / f"{snapshot.id}.json"
    file.write_text(json.dumps({**json.loads(file.read_text()), "boot": "an earlier one"}))
    async with engine_here(tmp_path) as sandboxes:
        assert not sandboxes.snapshots.has(snapshot.id)
        assert list((tmp_path / "layers").iterdir()) == []


@pytest.mark.bwrap
async def test_a_full_disk_loses_no_earlier_snapshot(small_disk: Path) -> None:
    async with engine_here(small_disk / "data", disk_floor=0) as sandboxes:
        sandbox = await sandboxes.create(CreateBody(name="one"))
        await run(sandbox, "echo first > file")
        earlier = await sandbox.snapshot(sandbox.record.session.id, None)
        assert "No space left" in await run(sandbox, "echo second > file; head -c 64000000 /dev/zero > big")
        fill(small_disk)
        failed = await sandbox.stop()
        assert failed is None
        assert await run(sandbox, "cat file; rm big") == "second\n"
        child = await sandboxes.create(from_snapshot(earlier.id))
        assert await run(child, "cat file") == "first\n"


@pytest.mark.bwrap
async def test_a_snapshot_that_cannot_be_written_says_so(small_disk: Path) -> None:
    async with engine_here(small_disk / "data", disk_floor=0) as sandboxes:
        sandbox = await sandboxes.create(CreateBody(name="one", persistent=False))
        await run(sandbox, "echo kept > file; head -c 64000000 /dev/zero > big; true")
        fill(small_disk)
        with pytest.raises(Exception, match="No space left") as refused:
            await sandbox.snapshot(sandbox.record.session.id, None)
        assert (refused.value.status, refused.value.code) == (507, "insufficient_storage")
        assert await run(sandbox, "cat file; rm big") == "kept\n"


@pytest.mark.bwrap
async def test_without_an_overlay_every_sandbox_gets_a_copy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Overlay, "request", lambda _: {"folder": "/", "target": "/tmp", "options": "lowerdir=/nowhere"})
    async with engine_here(tmp_path) as sandboxes:
        assert not sandboxes.snapshots.layers.stacked
        sandbox = await sandboxes.create(CreateBody(name="one"))
        await run(sandbox, "echo 1 > file; chmod 600 file")
        first = await sandbox.snapshot(sandbox.record.session.id, None)
        assert await run(sandbox, "cat file; echo 2 >> file") == "1\n"
        second = await sandbox.snapshot(sandbox.record.session.id, None)
        children = [await sandboxes.create(from_snapshot(one.id)) for one in (first, second)]
        assert [await run(child, "cat file; stat -c %a file") for child in children] == ["1\n600\n", "1\n2\n600\n"]


@pytest.mark.bwrap
async def test_layers_without_an_overlay_are_refused_with_the_reason(tmp_path: Path) -> None:
    async with engine_here(tmp_path) as sandboxes:
        held = sandboxes.snapshots.layers
        copying = Layers(Settings(tmp_path), held._launcher, held._trash, stacked=False)
        folder = SandboxFolder(tmp_path / "sandboxes" / "x")
        with pytest.raises(LaunchError, match="cannot mount an overlay"):
            await copying.prepare(folder, [Layer("a", 0), Layer("b", 0)])


@pytest.mark.bwrap
async def test_the_size_of_a_disk_counts_two_names_once_and_what_is_hidden_too(tmp_path: Path) -> None:
    async with engine_here(tmp_path) as sandboxes:
        sandbox = await sandboxes.create(CreateBody(name="one"))
        await run(sandbox, "mkdir dark; head -c 1000000 /dev/zero > dark/file; ln dark/file again; chmod 0 dark")
        size = await sandboxes.snapshots.layers.measure(sandbox.folder.disk)
        assert 1_000_000 <= size < 1_100_000


def test_options_name_the_topmost_layer_first_and_no_path_of_the_host() -> None:
    overlay = Overlay("/media/data", ("layers/b", "layers/a"), upper="sandboxes/s/disk", work="sandboxes/s/work")
    assert overlay.request() == {
        "folder": "/media/data",
        "target": "sandboxes/s/disk",
        "options": "lowerdir=layers/b:layers/a,userxattr,upperdir=sandboxes/s/disk,workdir=sandboxes/s/work,volatile",
    }


def fill(disk: Path) -> None:
    """Leave not one block, nor a place for a new file."""
    for number in count():
        try:
            (disk / f"filler{number}").write_bytes(b"x" * 4096)
        except OSError:
            return


async def until(condition) -> None:
    async with asyncio.timeout(30):
        while not condition():
            await asyncio.sleep(0.02)
