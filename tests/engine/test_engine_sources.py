"""Sources that are slow, broken or not git."""

import asyncio
import http.server
import io
import socket
import tarfile
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from vercel.sandbox import SandboxApiError, TarballSource

from bot.engine.errors import ApiError
from bot.engine.records import Status
from bot.engine.server import open_engine
from bot.engine.settings import Settings
from bot.engine.wire import CreateBody

pytestmark = pytest.mark.bwrap


@pytest.fixture
def silent_server() -> Iterator[str]:
    """Accepts connections and never says a word."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}/o/r.git"


async def test_a_slow_clone_is_answered_pending_and_can_be_destroyed(
    engine, silent_server: str, tmp_path: Path
) -> None:
    settings = Settings(tmp_path, answer_limit=0.2)
    body = CreateBody.model_validate({"name": "slow", "source": {"type": "git", "url": silent_server}})
    async with open_engine(settings, "127.0.0.1") as (sandboxes, _):
        sandbox = await sandboxes.create(body)
        assert sandbox.record.status is Status.PENDING
        waiting = asyncio.create_task(sandbox.running(sandbox.record.session.id))
        await sandboxes.destroy("slow")
        with pytest.raises(ApiError) as refused:
            await waiting
        assert refused.value.code == "sandbox_stopped"
        assert sandboxes.all() == []


async def test_a_clone_that_takes_too_long_fails(engine, silent_server: str, tmp_path: Path) -> None:
    settings = Settings(tmp_path, clone_limit=0.3)
    body = CreateBody.model_validate({"source": {"type": "git", "url": silent_server}})
    async with open_engine(settings, "127.0.0.1") as (sandboxes, _):
        with pytest.raises(ApiError, match="took longer"):
            await sandboxes.create(body)
        assert sandboxes.all() == []


async def test_what_failed_to_start_cannot_be_resumed(engine, silent_server: str, tmp_path: Path) -> None:
    settings = Settings(tmp_path, answer_limit=0.1, clone_limit=0.5)
    body = CreateBody.model_validate({"name": "slow", "source": {"type": "git", "url": silent_server}})
    async with open_engine(settings, "127.0.0.1") as (sandboxes, _):
        sandbox = await sandboxes.create(body)
        with pytest.raises(ApiError):
            await sandbox.running(sandbox.record.session.id)
        assert sandbox.record.status is Status.FAILED
        with pytest.raises(ApiError) as refused:
            await sandboxes.resume("slow")
        assert refused.value.code == "snapshot_not_found"


async def test_without_disk_no_sandbox_is_created(engine, tmp_path: Path) -> None:
    async with open_engine(Settings(tmp_path, disk_floor=1 << 60), "127.0.0.1") as (sandboxes, _):
        with pytest.raises(ApiError) as refused:
            await sandboxes.create(CreateBody())
    assert (refused.value.status, refused.value.code) == (507, "insufficient_storage")


@pytest.fixture
def web_server() -> Iterator[tuple[str, dict[str, bytes]]]:
    """A server of the files in a dictionary."""
    files: dict[str, bytes] = {}

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200 if self.path in files else 404)
            self.send_header("content-length", str(len(files.get(self.path, b""))))
            self.end_headers()
            self.wfile.write(files.get(self.path, b""))

        def log_message(self, *_: object) -> None:
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}", files
        server.shutdown()
        thread.join()


@pytest.mark.parametrize("compression", ["", "gz", "xz", "bz2"])
async def test_a_tarball_is_unpacked_whatever_its_compression(make_sandbox, web_server, compression: str) -> None:
    url, files = web_server
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode=f"w:{compression}") as archive:
        info = tarfile.TarInfo("folder/hello.txt")
        info.size = 5
        archive.addfile(info, io.BytesIO(b"hello"))
    files["/app.tar"] = packed.getvalue()
    sandbox = await make_sandbox(source=TarballSource(url=f"{url}/app.tar"))
    assert await sandbox.fs.read_text("folder/hello.txt") == "hello"


@pytest.mark.parametrize("path", ["/missing.tar", "/broken.tar"])
async def test_a_tarball_that_is_none_is_refused(make_sandbox, web_server, path: str) -> None:
    url, files = web_server
    files["/broken.tar"] = b"\x1f\x8bnothing"
    with pytest.raises(SandboxApiError) as refused:
        await make_sandbox(source=TarballSource(url=url + path))
    assert (refused.value.status_code, refused.value.code) == (400, "tarball_failed")
