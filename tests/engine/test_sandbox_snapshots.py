"""Snapshots through the SDK: taken, started from, stacked, kept and let go."""

import asyncio
import json
import subprocess
from datetime import timedelta

import httpx
import pytest
from engine_process import DEADLINE, EngineProcess, wait_until
from vercel.sandbox import (
    Sandbox,
    SandboxApiError,
    SandboxClient,
    SandboxStatus,
    SnapshotRetention,
    SnapshotSource,
)

pytestmark = pytest.mark.bwrap


def used(engine: EngineProcess) -> int:
    """Bytes of all layers and disks. `du` sums up and still complains of overlay's closed, empty work folders."""
    listed = subprocess.run(["du", "-s", "-B1", engine.data], capture_output=True, check=False, text=True)
    return int(listed.stdout.split()[0])


async def say(sandbox: Sandbox, script: str) -> str:
    return (await sandbox.run_process("sh", ["-c", script], capture_output=True)).stdout


async def test_a_snapshot_ends_the_session_and_the_next_command_starts_from_it(sandbox: Sandbox) -> None:
    await sandbox.fs.write_text("kept.txt", "kept")
    first = sandbox.current_session.id
    snapshot = await sandbox.snapshot()
    assert (snapshot.status, snapshot.source_session_id) == ("created", first)
    assert snapshot.size_bytes >= 4096
    assert sandbox.current_session.status == SandboxStatus.STOPPED
    assert await say(sandbox, "cat kept.txt") == "kept"
    assert sandbox.current_session.id != first


async def test_a_sandbox_starts_from_another_one_s_snapshot(sandbox: Sandbox, make_sandbox) -> None:
    await say(sandbox, "mkdir -p deep/er; echo one > deep/er/file; ln -s deep/er/file link; chmod 600 deep/er/file")
    snapshot = await sandbox.snapshot()
    child = await make_sandbox(source=SnapshotSource(snapshot_id=snapshot.id))
    assert await say(child, "cat link; stat -c %a deep/er/file; readlink link") == "one\n600\ndeep/er/file\n"


async def test_a_child_cannot_change_what_its_sisters_see(sandbox: Sandbox, make_sandbox) -> None:
    await say(sandbox, "echo original > file; mkdir folder; touch folder/a folder/b")
    source = SnapshotSource(snapshot_id=(await sandbox.snapshot()).id)
    vandal, sister = await make_sandbox(source=source), await make_sandbox(source=source)
    await say(vandal, "echo changed > file; rm -r folder; chmod 777 .; truncate -s 0 file")
    later = await make_sandbox(source=source)
    for sandbox_ in (sister, later):
        assert await say(sandbox_, "cat file; ls folder; stat -c %a .") == "original\na\nb\n700\n"


async def test_snapshots_stack_and_what_was_deleted_stays_deleted(sandbox: Sandbox, make_sandbox) -> None:
    await say(sandbox, "echo 1 > one; mkdir folder; echo 1 > folder/x")
    await sandbox.snapshot()
    await say(sandbox, "echo 2 > two; rm one; rm -r folder; mkdir folder; echo 2 > folder/y")
    second = await sandbox.snapshot()
    child = await make_sandbox(source=SnapshotSource(snapshot_id=second.id))
    assert await say(child, "find . -type f | sort") == "./folder/y\n./two\n"


async def test_stopping_a_persistent_sandbox_keeps_it_in_a_snapshot(client: SandboxClient, make_sandbox) -> None:
    sandbox = await make_sandbox(persistent=True)
    await sandbox.fs.write_text("kept.txt", "kept")
    await sandbox.stop()
    found = await client.get_sandbox(name=sandbox.name)
    snapshot = await client.get_snapshot(snapshot_id=found.current_snapshot_id)
    assert snapshot.creation_method == "automatic"
    child = await make_sandbox(source=SnapshotSource(snapshot_id=snapshot.id))
    assert await child.fs.read_text("kept.txt") == "kept"


async def test_many_stops_are_merged_and_nothing_is_lost(make_sandbox, engine) -> None:
    sandbox = await make_sandbox(persistent=True)
    for number in range(13):
        await say(sandbox, f"echo {number} > file{number}; rm -f file{number - 3}")
        await sandbox.stop()
    records = engine.data / "snapshots"
    wait_until(lambda: all(len(json.loads(file.read_text())["layers"]) <= 10 for file in records.glob("*.json")))
    assert await say(sandbox, "cat file*") == "10\n11\n12\n"


async def test_an_unknown_snapshot_is_refused_as_lost(make_sandbox) -> None:
    with pytest.raises(SandboxApiError) as refused:
        await make_sandbox(source=SnapshotSource(snapshot_id="snap_unknown"))
    assert (refused.value.status_code, refused.value.code) == (410, "snapshot_not_found")


async def test_a_deleted_snapshot_is_gone_and_its_children_stay_whole(client: SandboxClient, make_sandbox) -> None:
    parent = await make_sandbox()
    await parent.fs.write_text("file", "content")
    snapshot = await parent.snapshot()
    child = await make_sandbox(source=SnapshotSource(snapshot_id=snapshot.id), persistent=True)
    assert (await snapshot.delete()).status == "deleted"
    with pytest.raises(SandboxApiError) as refused:
        await client.get_snapshot(snapshot_id=snapshot.id)
    assert refused.value.status_code == 404
    await child.stop()
    assert await child.fs.read_text("file") == "content"
    with pytest.raises(SandboxApiError) as refused:
        await parent.run_process("true")
    assert (refused.value.status_code, refused.value.code) == (410, "snapshot_not_found")


async def test_snapshots_are_listed_by_their_sandbox_newest_first(client: SandboxClient, make_sandbox) -> None:
    sandbox, other = await make_sandbox(), await make_sandbox()
    await other.snapshot()
    taken = []
    for _ in range(3):
        await sandbox.run_process("true")
        taken.append((await sandbox.snapshot()).id)
    listed = [one.id async for one in client.query_snapshots(name=sandbox.name, page_size=2)]
    assert listed == taken[::-1]


async def test_only_the_last_snapshots_are_kept(client: SandboxClient, make_sandbox) -> None:
    sandbox = await make_sandbox(snapshot_retention=SnapshotRetention(count=2))
    taken = []
    for number in range(4):
        await say(sandbox, f"echo {number} >> log")
        taken.append((await sandbox.snapshot()).id)
    assert [one.id async for one in client.query_snapshots(name=sandbox.name)] == taken[:1:-1]
    assert await say(sandbox, "cat log") == "0\n1\n2\n3\n"


async def test_what_is_evicted_but_not_deleted_expires_as_usual(client: SandboxClient, make_sandbox) -> None:
    retention = SnapshotRetention(count=1, expiration=0, delete_evicted=False)
    sandbox = await make_sandbox(snapshot_retention=retention, snapshot_expiration=timedelta(days=2))
    first = await sandbox.snapshot()
    assert first.expires_at is None
    await sandbox.run_process("true")
    await sandbox.snapshot()
    evicted = await client.get_snapshot(snapshot_id=first.id)
    assert evicted.expires_at > evicted.created_at


async def test_the_life_of_a_snapshot_begins_anew_when_it_is_used(client: SandboxClient, make_sandbox) -> None:
    sandbox = await make_sandbox()
    taken = await sandbox.snapshot(expiration=timedelta(days=1))
    await make_sandbox(source=SnapshotSource(snapshot_id=taken.id))
    used = await client.get_snapshot(snapshot_id=taken.id)
    assert used.last_used_at > taken.last_used_at
    assert used.expires_at - used.last_used_at == 86_400_000


async def test_a_snapshot_expires(sandbox: Sandbox, engine: EngineProcess) -> None:
    url = f"{engine.url}/v2/sandboxes"
    async with httpx.AsyncClient(headers={"authorization": f"Bearer {engine.token}"}) as http:
        answer = await http.post(f"{url}/sessions/{sandbox.current_session.id}/snapshot", json={"expiration": 200})
        place = f"{url}/snapshots/{answer.json()['snapshot']['id']}"
        async with asyncio.timeout(DEADLINE):
            while (await http.get(place)).status_code != 404:
                await asyncio.sleep(0.02)
    with pytest.raises(SandboxApiError) as refused:
        await sandbox.run_process("true")
    assert refused.value.code == "snapshot_not_found"


async def test_the_family_of_a_snapshot_is_told_in_both_directions(
    sandbox: Sandbox, make_sandbox, engine: EngineProcess
) -> None:
    first = await sandbox.snapshot()
    taken = []
    for _ in range(2):
        child = await make_sandbox(source=SnapshotSource(snapshot_id=first.id))
        taken.append((await child.snapshot()).id)
    url = f"{engine.url}/v2/sandboxes/snapshots/tree"
    async with httpx.AsyncClient(headers={"authorization": f"Bearer {engine.token}"}) as http:
        up = (await http.get(url, params={"snapshotId": taken[1], "sortOrder": "desc"})).json()
        down = (await http.get(url, params={"snapshotId": first.id, "sortOrder": "asc"})).json()
    assert [node["snapshot"]["id"] for node in up["snapshots"]] == [first.id]
    assert [one["id"] for one in up["anchor"]["siblings"]] == taken[:1]
    assert [node["snapshot"]["id"] for node in down["snapshots"]] == taken[1:]
    assert down["pagination"] == {"count": 1, "next": None}


async def test_destroying_keeps_snapshots_unless_asked_and_then_those_in_use(
    client: SandboxClient, make_sandbox
) -> None:
    sandbox = await make_sandbox()
    shared = await sandbox.snapshot()
    await make_sandbox(source=SnapshotSource(snapshot_id=shared.id))
    await sandbox.run_process("true")
    orphan = await sandbox.snapshot()
    other = await make_sandbox()
    kept = await other.snapshot()
    await sandbox.destroy(delete_orphan_snapshots=True)
    await other.destroy()
    assert (await client.get_snapshot(snapshot_id=shared.id)).id == shared.id
    assert (await client.get_snapshot(snapshot_id=kept.id)).id == kept.id
    with pytest.raises(SandboxApiError):
        await client.get_snapshot(snapshot_id=orphan.id)


async def test_a_fork_has_the_files_and_settings_of_its_parent(client: SandboxClient, make_sandbox) -> None:
    parent = await make_sandbox(env={"COLOR": "green"}, tags={"a": "1"}, ports=[3000])
    await parent.fs.write_text("file", "content")
    await parent.snapshot()
    fork = await client.fork_sandbox(source_sandbox=parent.name, tags={"a": "2"})
    try:
        assert await say(fork, "cat file; echo $COLOR") == "contentgreen\n"
        assert fork.tags == {"a": "2"}
        assert [route.port for route in fork.routes] == [3000]
        assert fork.persistent is False
    finally:
        await fork.destroy()


async def test_a_sandbox_can_be_set_back_to_an_earlier_snapshot(make_sandbox) -> None:
    sandbox = await make_sandbox(persistent=True)
    await sandbox.fs.write_text("file", "old")
    earlier = await sandbox.snapshot()
    await sandbox.fs.write_text("file", "new")
    await sandbox.stop()
    await sandbox.update(current_snapshot_id=earlier.id)
    assert await sandbox.fs.read_text("file") == "old"


async def test_twenty_sandboxes_start_from_one_snapshot_at_once(sandbox: Sandbox, make_sandbox) -> None:
    await sandbox.fs.write_text("file", "content")
    source = SnapshotSource(snapshot_id=(await sandbox.snapshot()).id)
    children = await asyncio.gather(*(make_sandbox(source=source) for _ in range(20)))
    assert await asyncio.gather(*(child.fs.read_text("file") for child in children)) == ["content"] * 20


async def test_the_disk_of_a_snapshot_that_nothing_needs_is_freed(sandbox: Sandbox, engine: EngineProcess) -> None:
    before = used(engine)
    await say(sandbox, "head -c 20000000 /dev/urandom > big")
    snapshot = await sandbox.snapshot()
    assert used(engine) - before > 19_000_000
    await snapshot.delete()
    wait_until(lambda: used(engine) - before < 1_000_000)


async def test_a_disk_over_layers_tells_nothing_of_where_it_is(make_sandbox, engine: EngineProcess) -> None:
    sandbox = await make_sandbox(persistent=True)
    await sandbox.stop()
    mount = await say(sandbox, "grep ' /vercel ' /proc/self/mountinfo")
    assert " overlay " in mount
    assert engine.data.name not in mount


async def test_disk_that_snapshots_share_is_there_once(make_sandbox, engine) -> None:
    sandbox = await make_sandbox()
    await say(sandbox, "head -c 20000000 /dev/urandom > big")
    snapshot = await sandbox.snapshot()
    before = used(engine)
    children = await asyncio.gather(
        *(make_sandbox(source=SnapshotSource(snapshot_id=snapshot.id), persistent=True) for _ in range(3))
    )
    for child in children:
        await child.stop()
    assert used(engine) - before < 5_000_000
