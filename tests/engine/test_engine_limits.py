"""What a whole sandbox may use of the machine."""

from pathlib import Path

import pytest
from vercel.sandbox import SandboxResources

from bot.engine.cgroups import ControlGroups

HOG = """
import os, signal, time
for _ in range(8):
    if os.fork() == 0:
        held = bytearray(os.urandom(1 << 20)) * 300
        time.sleep(1000)
_, status = os.wait()
print("killed by", os.WTERMSIG(status), flush=True)
os.killpg(0, signal.SIGKILL)
"""


@pytest.fixture
def groups():
    found = ControlGroups.find()
    if found is None:
        pytest.skip("this machine does not let us make control groups")
    yield found
    found.close()


@pytest.mark.bwrap
async def test_many_processes_together_get_no_more_memory_than_the_sandbox_has(groups, make_sandbox) -> None:
    hungry = await make_sandbox(resources=SandboxResources(vcpus=1, memory=1024))
    other = await make_sandbox()
    ran = await hungry.run_process("/usr/bin/python3", ["-c", HOG], capture_output=True, kill_after=60)
    assert ran.stdout == "killed by 9\n"
    assert (await other.run_process("echo", ["fine"], capture_output=True)).stdout == "fine\n"


@pytest.mark.bwrap
async def test_a_stopped_sandbox_leaves_no_control_group(groups, engine, make_sandbox) -> None:
    sandbox = await make_sandbox()
    places = [folder.with_name(f"preview-engine-{engine.process.pid}") for folder in groups.folders]
    before = [len(list(place.glob("*/"))) for place in places]
    await sandbox.stop()
    assert [len(list(place.glob("*/"))) for place in places] == [count - 1 for count in before]


def test_version_2_counts_only_where_it_hands_the_controllers_on(tmp_path: Path) -> None:
    (tmp_path / "own").mkdir()
    handed_on = tmp_path / "own" / "cgroup.subtree_control"
    handed_on.write_text("cpu\n")
    assert ControlGroups.find(tmp_path, "0::/own\n") is None
    handed_on.write_text("cpu memory pids\n")
    found = ControlGroups.find(tmp_path, "0::/own\n")
    assert [folder.parent for folder in found.folders] == [tmp_path / "own"]


def test_version_1_needs_both_hierarchies(tmp_path: Path) -> None:
    own = "4:memory:/a\n3:cpu,cpuacct:/\n2:pids:/b\n0::/\n"
    (tmp_path / "memory" / "a").mkdir(parents=True)
    assert ControlGroups.find(tmp_path, own) is None
    (tmp_path / "pids" / "b").mkdir(parents=True)
    found = ControlGroups.find(tmp_path, own)
    assert [folder.parent for folder in found.folders] == [tmp_path / "memory" / "a", tmp_path / "pids" / "b"]


def test_limits_are_written_in_the_words_of_the_version(tmp_path: Path) -> None:
    group = ControlGroups((tmp_path,)).create("one", memory=1 << 30, processes=7)
    assert group.doors == [str(tmp_path / "one" / "cgroup.procs")]
    assert list((tmp_path / "one").iterdir()) == []
    (tmp_path / "one" / "memory.max").touch()
    (tmp_path / "one" / "pids.max").touch()
    ControlGroups((tmp_path,)).create("one", memory=1 << 30, processes=7)
    assert (tmp_path / "one" / "memory.max").read_text() == str(1 << 30)
    assert (tmp_path / "one" / "pids.max").read_text() == "7"


def test_what_a_killed_engine_left_is_swept(tmp_path: Path) -> None:
    left = tmp_path / "own" / "preview-engine-999999999" / "sbx_1"
    left.mkdir(parents=True)
    (tmp_path / "own" / "cgroup.subtree_control").write_text("memory pids")
    ControlGroups.find(tmp_path, "0::/own\n")
    assert not left.parent.exists()


def test_what_a_living_engine_made_is_left_alone(tmp_path: Path) -> None:
    theirs = tmp_path / "own" / "preview-engine-1"
    theirs.mkdir(parents=True)
    (tmp_path / "own" / "cgroup.subtree_control").write_text("memory pids")
    ControlGroups.find(tmp_path, "0::/own\n")
    assert theirs.exists()
