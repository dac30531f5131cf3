"""What people do first with sandboxes, as whole programs: only address and credentials are not Vercel's."""

import asyncio
import io
import subprocess
from collections.abc import AsyncIterator
from datetime import timedelta
from uuid import uuid4

import httpx
import pytest
from engine_process import EngineProcess
from vercel import sandbox
from vercel.api import session
from vercel.sandbox import (
    GitSource,
    NetworkPolicy,
    SandboxCredentials,
    SandboxServiceOptions,
    SnapshotRetention,
    SnapshotSource,
)

pytestmark = pytest.mark.bwrap
SOLUTION = "def initials(name):\n    return ''.join(word[0] for word in name.split(' '))\n"
TESTS = """
from solution import initials

def test_two_words():
    assert initials("Ada Lovelace") == "AL"

def test_words_that_are_far_apart():
    assert initials("Ada  Lovelace") == "AL"
"""
SERVER = """
import http.server
class Page(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200); self.end_headers(); self.wfile.write(open("page").read().encode())
    def log_message(self, *_): pass
http.server.ThreadingHTTPServer(("127.0.0.1", 3000), Page).serve_forever()
"""


@pytest.fixture(autouse=True)
async def account(engine: EngineProcess) -> AsyncIterator[None]:
    async def credentials() -> SandboxCredentials:
        return SandboxCredentials(token=engine.token, team_id="team", project_id="project")

    options = SandboxServiceOptions(base_url=engine.url, credentials_factory=credentials)
    async with session(service_options=[options]):
        yield


class Capped(io.StringIO):
    """Keeps the beginning of what is written to it."""

    def __init__(self, limit: int) -> None:
        super().__init__()
        self.left, self.cut = limit, False

    def write(self, text: str) -> int:
        super().write(text[: self.left])
        self.cut = self.cut or len(text) > self.left
        self.left = max(0, self.left - len(text))
        return len(text)


async def install_pytest(box: sandbox.Sandbox) -> None:
    installed = await box.run_process("python", ["-m", "pip", "install", "--user", "-q", "pytest"], capture_output=True)
    if "No module named pip" in installed.stderr:
        pytest.skip("the host's Python has no pip")
    assert installed.returncode == 0, installed.stderr


async def submit(box: sandbox.Sandbox) -> None:
    await box.fs.mkdir("exercise")
    async with box.fs.batch(cwd="exercise") as batch:
        batch.write_text("solution.py", SOLUTION)
        batch.write_text("test_solution.py", TESTS)


async def test_a_first_sandbox() -> None:
    async with sandbox.create_sandbox() as box:
        words = ["-c", "import platform; print(platform.system())"]
        result = await box.run_process("python", words, capture_output=True, check=True)
    assert result.stdout == "Linux\n"
    with pytest.raises(sandbox.SandboxApiError) as gone:
        await sandbox.get_sandbox(name=box.name)
    assert gone.value.status_code == 404


async def test_a_submission_is_tested_without_a_network_and_the_failing_test_is_named(registry: str) -> None:
    async with sandbox.create_sandbox(execution_time_limit=timedelta(minutes=2)) as box:
        await install_pytest(box)
        await box.update(network_policy=NetworkPolicy.deny_all())
        outside = await box.run_process("getent", ["hosts", registry])
        assert outside.returncode == 2, "the network is still there"
        await submit(box)
        result = await box.run_process(
            "python", ["-m", "pytest", "-q"], cwd="exercise", capture_output=True, kill_after=60
        )
    assert result.returncode == 1
    assert "FAILED test_solution.py::test_words_that_are_far_apart" in result.stdout
    assert "1 failed, 1 passed" in result.stdout


async def test_runners_start_from_a_snapshot_in_which_everything_is_installed(registry: str) -> None:
    box = await sandbox.create_sandbox(persistent=False)
    try:
        await install_pytest(box)
        snapshot = await box.snapshot(expiration=0)
    finally:
        await box.destroy()
    try:
        source = SnapshotSource(snapshot_id=snapshot.id)
        for _ in range(2):
            async with sandbox.create_sandbox(source=source, network_policy=NetworkPolicy.deny_all()) as runner:
                await submit(runner)
                result = await runner.run_process("python", ["-m", "pytest", "-q"], cwd="exercise", capture_output=True)
            assert "1 failed, 1 passed" in result.stdout
    finally:
        await snapshot.delete()


async def test_a_flood_of_output_fills_a_bounded_buffer_only() -> None:
    output = Capped(20_000)
    async with sandbox.create_sandbox(network_policy=NetworkPolicy.deny_all()) as box:
        script = "import sys\nfor n in range(100_000): print(n); print('complaint', file=sys.stderr)"
        result = await box.run_process("python", ["-c", script], stdout=output, stderr=subprocess.STDOUT, kill_after=60)
    assert result.returncode == 0
    assert (len(output.getvalue()), output.cut) == (20_000, True)


async def test_a_branch_is_previewed(git_server, repository) -> None:
    repository.commit(page="the main line")
    repository.git("-C", str(repository.path), "checkout", "-q", "-b", "topic")
    repository.commit(page="the branch", serve__py=SERVER)
    source = GitSource(url=f"{git_server.url}/app", revision="topic", depth=1)
    async with sandbox.create_sandbox(source=source, ports=[3000]) as box:
        await box.create_process("python", ["serve.py"], cwd="app")
        url = next(route.url for route in box.routes if route.port == 3000)
        async with httpx.AsyncClient() as http, asyncio.timeout(30):
            while True:
                try:
                    answer = await http.get(url)
                    break
                except httpx.TransportError:
                    await asyncio.sleep(0.02)
    assert answer.text == "the branch"


async def test_a_user_s_workspace_is_there_again_next_time() -> None:
    name = f"workspace-{uuid4().hex[:8]}"
    for visit in range(3):
        box, created = await sandbox.get_or_create_sandbox(
            name=name, persistent=True, snapshot_retention=SnapshotRetention(count=1)
        )
        try:
            assert created is (visit == 0)
            if created:
                await box.fs.write_text("notes.md", "# Notes\n")
            notes = await box.fs.read_text("notes.md")
            await box.fs.write_text("notes.md", f"{notes}visit {visit}\n")
        finally:
            await box.stop()
    assert notes == "# Notes\nvisit 0\nvisit 1\n"
    await box.destroy(delete_orphan_snapshots=True)


async def test_a_long_job_s_lines_arrive_while_it_runs() -> None:
    async with sandbox.create_sandbox() as box:
        await box.run_process("mkfifo", ["/tmp/gate"])
        script = "print('started', flush=True); open('/tmp/gate').read(); print('finished')"
        process = await box.create_process("python", ["-c", script], stderr=subprocess.STDOUT, kill_after=60)
        lines = []
        async for line in process.stdout:
            lines.append(line)
            if line == "started\n":
                await box.run_process("sh", ["-c", "echo go > /tmp/gate"])
        assert lines == ["started\n", "finished\n"]
        assert await process.wait() == 0


async def test_code_that_a_model_wrote_runs_apart_and_within_limits() -> None:
    async with sandbox.create_sandbox(network_policy=NetworkPolicy.deny_all()) as box:
        await box.fs.write_text("main.py", "raise SystemExit(f'{6 * 7}')")
        result = await box.run_process("python", ["main.py"], capture_output=True, kill_after=30)
        assert (result.returncode, result.stderr) == (1, "42\n")
        await box.fs.write_text("main.py", "while True: pass")
        result = await box.run_process("python", ["main.py"], capture_output=True, kill_after=0.3)
        assert result.returncode == 137
