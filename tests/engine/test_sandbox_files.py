"""The file calls, and archives that try to leave."""

import io
import tarfile

import httpx
import pytest
from engine_process import EngineProcess
from vercel.sandbox import Sandbox, SandboxApiError, SandboxFilesystemWriteError, SandboxPathNotFoundError

pytestmark = pytest.mark.bwrap


async def test_what_is_written_is_read_again(sandbox: Sandbox) -> None:
    await sandbox.fs.write_bytes("deep/down/data.bin", bytes(range(256)) * 4096)
    assert await sandbox.fs.read_bytes("deep/down/data.bin") == bytes(range(256)) * 4096
    owner = await sandbox.run_process("stat", ["-c", "%U %a", "deep/down/data.bin"], capture_output=True)
    assert owner.stdout == "vercel-sandbox 644\n"


async def test_a_written_file_is_as_new_as_it_is(sandbox: Sandbox) -> None:
    await sandbox.fs.write_text("fresh", "x")
    ran = await sandbox.run_process("sh", ["-c", "find fresh -mmin -5"], capture_output=True)
    assert ran.stdout == "fresh\n"


async def test_directories_are_made_listed_and_removed(sandbox: Sandbox) -> None:
    await sandbox.fs.mkdir("a/b")
    await sandbox.fs.write_text("a/file", "x")
    assert sorted(entry.path for entry in await sandbox.fs.listdir("a")) == ["b", "file"]
    assert await sandbox.fs.is_dir("a/b")
    await sandbox.fs.remove("a/file")
    assert not await sandbox.fs.exists("a/file")


async def test_a_missing_file_is_said_to_be_missing(sandbox: Sandbox) -> None:
    with pytest.raises(SandboxPathNotFoundError):
        await sandbox.fs.read_bytes("nothing")


@pytest.mark.parametrize("path", ["/dev/zero", "/tmp/fifo", "/vercel", "/proc/1/mem"])
async def test_only_regular_files_are_read_and_nothing_hangs(sandbox: Sandbox, path: str) -> None:
    await sandbox.run_process("mkfifo", ["/tmp/fifo"])
    with pytest.raises(SandboxApiError) as refused:
        await sandbox.fs.read_bytes(path)
    assert refused.value.status_code == 400


async def test_a_symlink_is_followed_inside_only(sandbox: Sandbox) -> None:
    await sandbox.run_process("ln", ["-s", "/etc/shadow", "shadow"])
    with pytest.raises(SandboxPathNotFoundError):
        await sandbox.fs.read_bytes("shadow")


async def test_writing_to_a_read_only_place_fails(sandbox: Sandbox) -> None:
    with pytest.raises(SandboxFilesystemWriteError) as refused:
        await sandbox.fs.write_text("/usr/bin/evil", "x")
    assert "Read-only file system" in str(refused.value.cause)


def member(name: str, kind: bytes = tarfile.REGTYPE, target: str = "", content: bytes = b"evil") -> tuple:
    info = tarfile.TarInfo(name)
    info.type, info.linkname, info.devmajor, info.devminor = kind, target, 1, 1
    info.size = len(content) if kind == tarfile.REGTYPE else 0
    return info, io.BytesIO(content)


@pytest.mark.parametrize(
    "members",
    [
        pytest.param([member("../../../../vercel/escaped")], id="parents"),
        pytest.param([member("tmp/x", tarfile.SYMTYPE, "/usr"), member("tmp/x/escaped")], id="through a symlink"),
        pytest.param([member("tmp/dev", tarfile.CHRTYPE)], id="a device"),
    ],
)
async def test_a_hostile_archive_is_refused(engine: EngineProcess, sandbox: Sandbox, members: list) -> None:
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as archive:
        for info, content in members:
            archive.addfile(info, content)
    answer = await post_archive(engine, sandbox, packed.getvalue())
    assert answer.status_code == 400
    left = await sandbox.run_process("sh", ["-c", "ls /vercel /usr | grep -c escaped"], capture_output=True)
    assert left.stdout == "0\n"


async def test_what_is_no_archive_is_refused(engine: EngineProcess, sandbox: Sandbox) -> None:
    assert (await post_archive(engine, sandbox, b"no archive")).status_code == 400


async def post_archive(engine: EngineProcess, sandbox: Sandbox, content: bytes) -> httpx.Response:
    url = f"{engine.url}/v2/sandboxes/sessions/{sandbox.current_session.id}/fs/write"
    headers = {"authorization": f"Bearer {engine.token}", "content-type": "application/gzip", "x-cwd": "/"}
    async with httpx.AsyncClient(timeout=60, headers=headers) as http:
        return await http.post(url, content=content)
