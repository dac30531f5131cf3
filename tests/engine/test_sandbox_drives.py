"""Drives through the SDK: disks of their own, written by one session and read by many."""

import asyncio
from pathlib import Path
from uuid import uuid4

import pytest
from engine_process import EngineProcess
from vercel.sandbox import Drive, Sandbox, SandboxApiError, SandboxClient

pytestmark = pytest.mark.bwrap


@pytest.fixture
async def drive(client: SandboxClient) -> Drive:
    made, created = await client.get_or_create_drive(name=f"drive-{uuid4().hex[:12]}")
    assert created
    return made


async def say(sandbox: Sandbox, script: str) -> str:
    ran = await sandbox.run_process("sh", ["-c", script], capture_output=True)
    return ran.stdout + ran.stderr


async def filled(drive: Drive, make_sandbox, script: str = "echo content > /data/file") -> Drive:
    sandbox = await make_sandbox(mounts={"/data": drive})
    await say(sandbox, script)
    await sandbox.stop()
    return drive


async def test_a_drive_is_found_by_name_and_id(client: SandboxClient, drive: Drive) -> None:
    again, created = await client.get_or_create_drive(name=drive.name)
    assert (again.id, created) == (drive.id, False)
    assert (await client.get_drive(name_or_id=drive.id)).name == drive.name
    assert drive.id in [one.id async for one in client.query_drives()]


async def test_what_one_sandbox_writes_the_next_one_has(drive: Drive, make_sandbox) -> None:
    await filled(drive, make_sandbox)
    second = await make_sandbox(mounts={"/vercel/sandbox/cache": drive})
    assert await say(second, "cat cache/file; rm cache/file; echo more > cache/other") == "content\n"
    await second.stop()
    third = await make_sandbox(mounts={"/data": drive})
    assert await say(third, "ls /data; cat /data/other") == "other\nmore\n"


async def test_a_drive_outlives_its_sandbox_and_the_engine(tmp_path: Path) -> None:
    for number, end in enumerate(("kill", "stop")):
        engine = EngineProcess(tmp_path)
        client = engine.client()
        drive, created = await client.get_or_create_drive(name="kept")
        assert created is (number == 0)
        sandbox = await client.create_sandbox(persistent=False, mounts={"/data": drive})
        assert await say(sandbox, "cat /data/file; echo content > /data/file") == (
            "content\n" if number else "cat: /data/file: No such file or directory\n"
        )
        await asyncio.to_thread(getattr(engine, end))
        await client.aclose()


async def test_a_drive_has_one_writer(client: SandboxClient, drive: Drive, make_sandbox) -> None:
    writer = await make_sandbox(mounts={"/data": drive})
    found = await client.get_drive(name_or_id=drive.name)
    assert found.current_sandbox_name == writer.name
    for refused_call in (make_sandbox(mounts={"/data": drive}), drive.delete()):
        with pytest.raises(SandboxApiError) as refused:
            await refused_call
        assert (refused.value.status_code, refused.value.code) == (409, "drive_attached")
    await writer.stop()
    await make_sandbox(mounts={"/data": drive})


async def test_a_snapshot_mount_shows_what_was_committed_and_cannot_be_written(drive: Drive, make_sandbox) -> None:
    await filled(drive, make_sandbox)
    await filled(drive, make_sandbox, "echo second > /data/second")
    writer = await make_sandbox(mounts={"/data": drive})
    readers = [await make_sandbox(mounts={"/data": drive.snapshot()}) for _ in range(2)]
    await say(writer, "echo changed > /data/file; rm /data/second")
    for reader in readers:
        assert await say(reader, "cat /data/file /data/second") == "content\nsecond\n"
        assert "Read-only" in await say(reader, "echo x > /data/file")


async def test_an_empty_drive_has_nothing_to_show_or_to_fork(drive: Drive, make_sandbox) -> None:
    for refused_call in (make_sandbox(mounts={"/data": drive.snapshot()}), drive.fork(name=f"{drive.name}-fork")):
        with pytest.raises(SandboxApiError) as refused:
            await refused_call
        assert (refused.value.status_code, refused.value.code) == (409, "drive_not_initialized")


async def test_a_fork_goes_its_own_way(drive: Drive, make_sandbox) -> None:
    await filled(drive, make_sandbox)
    fork = await drive.fork(name=f"{drive.name}-fork")
    await filled(fork, make_sandbox, "echo other > /data/file")
    both = await make_sandbox(mounts={"/data": drive, "/mnt/fork": fork})
    assert await say(both, "cat /data/file /mnt/fork/file") == "content\nother\n"
    await both.destroy()
    await drive.delete()
    assert await say(await make_sandbox(mounts={"/data": fork}), "cat /data/file") == "other\n"


async def test_a_deleted_drive_is_gone(client: SandboxClient, drive: Drive, make_sandbox) -> None:
    await filled(drive, make_sandbox)
    await drive.delete()
    with pytest.raises(SandboxApiError) as refused:
        await client.get_drive(name_or_id=drive.name)
    assert refused.value.status_code == 404
    with pytest.raises(SandboxApiError) as refused:
        await make_sandbox(mounts={"/data": drive})
    assert refused.value.status_code == 404


@pytest.mark.parametrize("target", ["/usr/bin", "/etc", "/vercel", "/vercel/sandbox", "/run/agent.py", "/proc"])
async def test_a_drive_cannot_hide_what_the_sandbox_is_made_of(drive: Drive, make_sandbox, target: str) -> None:
    with pytest.raises(SandboxApiError, match="a drive cannot be mounted at"):
        await make_sandbox(mounts={target: drive})


async def test_who_writes_more_than_the_drive_holds_is_stopped_and_told(client: SandboxClient, make_sandbox) -> None:
    small, _ = await client.get_or_create_drive(name=f"small-{uuid4().hex[:12]}", max_size_bytes=2 << 20)
    sandbox = await make_sandbox(mounts={"/data": small})
    ran = await sandbox.run_process(
        "sh", ["-c", "head -c 4000000 /dev/zero > /data/file; sleep 1000"], capture_output=True
    )
    assert ran.returncode == 137
    assert ran.stderr == f"\n[the sandbox was stopped: drive {small.name} holds more than its 2 MiB]\n"


async def test_an_update_changes_the_mounts_of_the_next_session(drive: Drive, make_sandbox) -> None:
    await filled(drive, make_sandbox)
    sandbox = await make_sandbox(persistent=True)
    await sandbox.update(mounts={"/data": drive})
    await sandbox.stop()
    assert await say(sandbox, "cat /data/file") == "content\n"
