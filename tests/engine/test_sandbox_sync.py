"""The same engine through the SDK's synchronous half."""

import subprocess
from collections.abc import Iterator
from uuid import uuid4

import pytest
from engine_process import EngineProcess
from vercel.api import session
from vercel.sandbox import sync
from vercel.sandbox.sync import NetworkPolicy, SandboxCredentials, SandboxServiceOptions, SyncSandbox

pytestmark = pytest.mark.bwrap


@pytest.fixture(autouse=True)
def account(engine: EngineProcess) -> Iterator[None]:
    def credentials() -> SandboxCredentials:
        return SandboxCredentials(token=engine.token, team_id="team", project_id="project")

    options = SandboxServiceOptions(base_url=engine.url, credentials_factory=credentials)
    with session(service_options=[options]):
        yield


@pytest.fixture
def box() -> Iterator[SyncSandbox]:
    with sync.create_sandbox(persistent=False) as box:
        yield box


def test_a_command_runs_and_its_failure_can_be_an_exception(box: SyncSandbox) -> None:
    ran = box.run_process("sh", ["-c", "echo out; echo err >&2"], capture_output=True, check=True)
    assert (ran.stdout, ran.stderr) == ("out\n", "err\n")
    with pytest.raises(subprocess.CalledProcessError) as failed:
        box.run_process("sh", ["-c", "exit 4"], check=True)
    assert failed.value.returncode == 4


def test_files_are_written_read_listed_and_removed(box: SyncSandbox) -> None:
    box.fs.mkdir("folder")
    with box.fs.batch(cwd="folder") as batch:
        batch.write_text("a", "one")
        batch.write_bytes("b", b"\0\xff")
    assert box.fs.read_text("folder/a") == "one"
    assert box.fs.read_bytes("folder/b") == b"\0\xff"
    assert sorted(entry.path.rpartition("/")[2] for entry in box.fs.listdir("folder")) == ["a", "b"]
    box.fs.remove("folder/a")
    assert not box.fs.exists("folder/a")


def test_output_is_followed_line_by_line(box: SyncSandbox) -> None:
    process = box.create_process("sh", ["-c", "for n in 1 2 3; do echo $n; done"], stderr=subprocess.STDOUT)
    assert list(process.stdout) == ["1\n", "2\n", "3\n"]
    assert process.wait() == 0


def test_a_process_is_killed(box: SyncSandbox) -> None:
    process = box.create_process("sleep", ["1000"])
    process.kill()
    assert process.wait() == 137


def test_the_network_is_closed_while_it_runs(box: SyncSandbox) -> None:
    box.update(network_policy=NetworkPolicy.deny_all())
    assert box.network_policy.mode == "deny-all"
    assert box.run_process("getent", ["hosts", "example.com"]).returncode == 2


def test_a_workspace_comes_back_with_its_files() -> None:
    name = f"sync-{uuid4().hex[:8]}"
    box, created = sync.get_or_create_sandbox(name=name)
    assert created
    box.fs.write_text("kept", "words")
    box.stop()
    again, created = sync.get_or_create_sandbox(name=name)
    assert not created
    assert again.fs.read_text("kept") == "words"
    again.destroy(delete_orphan_snapshots=True)


def test_a_terminal_is_talked_to(box: SyncSandbox) -> None:
    with box.open_interactive("sh", ["-c", "read word; echo got $word; exit 5"], cols=80, rows=24) as pty:
        pty.stream.write(b"hello\n")
        seen = b""
        while b"got hello" not in seen:
            seen += pty.stream.read(1024)
        assert pty.wait() == 5
