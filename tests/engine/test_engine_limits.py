"""What a whole sandbox may use of the machine."""

import asyncio
import os
import re
from pathlib import Path

import pytest
from engine_process import EngineProcess
from vercel.sandbox import Sandbox, SandboxResources

from bot.engine.cgroups import ControlGroups
from bot.engine.errands import run_errand
from bot.engine.errors import ApiError
from bot.engine.server import open_engine
from bot.engine.settings import Settings
from bot.engine.watchdog import Watchdog
from bot.engine.wire import CreateBody

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
async def test_a_command_whose_process_was_killed_for_memory_says_so(groups, make_sandbox) -> None:
    hungry = await make_sandbox(resources=SandboxResources(vcpus=1, memory=1024))
    ran = await hungry.run_process("/usr/bin/python3", ["-c", HOG], capture_output=True, kill_after=60)
    assert ran.returncode == 137
    assert ran.stderr == "\n[a process was killed: the sandbox's 1024 MB of memory were used up]\n"
    fine = await hungry.run_process("sh", ["-c", "exit 3"], capture_output=True)
    assert (fine.returncode, fine.stderr) == (3, "")


@pytest.mark.bwrap
async def test_a_sandbox_uses_no_more_processors_than_it_has(groups, engine, make_sandbox) -> None:
    await make_sandbox(resources=SandboxResources(vcpus=3, memory=1024))
    places = [folder.with_name(f"preview-engine-{engine.process.pid}") for folder in groups.folders]
    quotas = {file.read_text().strip() for place in places for file in place.glob("sbx_*/cpu.cfs_quota_us")}
    quotas |= {file.read_text().split()[0] for place in places for file in place.glob("sbx_*/cpu.max")}
    assert not quotas or "300000" in quotas


@pytest.mark.bwrap
async def test_all_sandboxes_together_leave_memory_to_the_host(groups, engine) -> None:
    total = int(Path("/proc/meminfo").read_text().split("MemTotal:")[1].split()[0]) * 1024
    places = [folder.with_name(f"preview-engine-{engine.process.pid}") for folder in groups.folders]
    names = ("memory.limit_in_bytes", "memory.max")
    limits = [int((place / name).read_text()) for place in places for name in names if (place / name).exists()]
    assert limits
    assert all(limit <= total - (512 << 20) for limit in limits)


@pytest.mark.bwrap
async def test_a_command_that_ran_too_long_says_so(sandbox: Sandbox) -> None:
    ran = await sandbox.run_process("sleep", ["1000"], kill_after=0.2, capture_output=True)
    assert (ran.returncode, ran.stderr) == (137, "\n[killed at its time limit of 0.2 s]\n")


@pytest.mark.bwrap
async def test_a_session_that_ran_too_long_says_so_in_its_commands(make_sandbox) -> None:
    sandbox = await make_sandbox(execution_time_limit=1)
    ran = await sandbox.run_process("sleep", ["1000"], capture_output=True)
    assert ran.returncode == 137
    assert ran.stderr == "\n[the sandbox was stopped: it has run for 1 s, its time limit]\n"


@pytest.mark.bwrap
async def test_what_somebody_stops_or_kills_needs_no_explanation(sandbox: Sandbox) -> None:
    process = await sandbox.create_process("sleep", ["1000"])
    await process.kill()
    assert await process.stderr.read() == ""


@pytest.mark.bwrap
async def test_who_fills_the_disk_is_stopped_and_told_and_others_are_not(tmp_path: Path) -> None:
    engine = EngineProcess(tmp_path, "--disk-limit", "64")
    client = engine.client()
    greedy, modest = [await client.create_sandbox(name=name, persistent=True) for name in ("greedy", "modest")]
    script = "for n in $(seq 100); do head -c 1000000 /dev/zero > $n; done; sleep 1000"
    ran = await greedy.run_process("sh", ["-c", script], capture_output=True)
    assert ran.returncode == 137
    assert re.fullmatch(r"\n\[the sandbox was stopped: its disk holds \d+ MiB, and may hold 64\]\n", ran.stderr)
    assert (await modest.run_process("echo", ["fine"], capture_output=True)).stdout == "fine\n"
    await client.aclose()
    assert await asyncio.to_thread(engine.stop) == 0


@pytest.mark.bwrap
async def test_no_sandbox_is_created_when_little_disk_is_free(tmp_path: Path) -> None:
    async with open_engine(Settings(tmp_path, disk_floor=1 << 60), "127.0.0.1") as (sandboxes, _):
        with pytest.raises(ApiError, match=r"\d+ MiB of disk are free, \d+ needed") as refused:
            await sandboxes.create(CreateBody(name="one"))
        assert (refused.value.status, refused.value.code) == (507, "insufficient_storage")
        assert not sandboxes.all()


@pytest.mark.bwrap
async def test_when_the_host_s_disk_is_nearly_full_the_largest_sandbox_ends(tmp_path: Path) -> None:
    async with open_engine(Settings(tmp_path, disk_floor=0, watch_interval=3600), "127.0.0.1") as (sandboxes, _):
        small, large = [await sandboxes.create(CreateBody(name=name)) for name in ("small", "large")]
        words = ["sh", "-c", "head -c 1000000 /dev/zero > file"]
        await run_errand(large.box.guest, words, owner=large.workshop.owner, cwd="/vercel/sandbox", env={})
        watchdog = Watchdog(Settings(tmp_path, disk_floor=1 << 60, watch_interval=3600), sandboxes.all)
        await watchdog.look()
        await watchdog.close()
        assert large.box is None
        assert small.box is not None


@pytest.mark.bwrap
async def test_without_control_groups_the_memory_of_all_processes_is_watched(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ControlGroups, "find", lambda: None)
    settings = Settings(tmp_path, watch_interval=3600)
    async with open_engine(settings, "127.0.0.1") as (sandboxes, _):
        body = {"persistent": False, "resources": {"vcpus": 1, "memory": 256}}
        modest, hungry = [await sandboxes.create(CreateBody.model_validate({**body, "name": n})) for n in ("a", "b")]
        owner, cwd = hungry.workshop.owner, "/vercel/sandbox"
        hold = "import time; held = bytearray(b'x') * (100 << 20); open('holding', 'w'); time.sleep(1000)"
        script = f'for n in 1 2 3 4; do (mkdir $n; cd $n; python3 -c "{hold}") & done; wait'
        work = asyncio.create_task(
            run_errand(hungry.box.guest, ["sh", "-c", script], owner=owner, cwd=cwd, env={"PATH": "/usr/bin:/bin"})
        )
        async with asyncio.timeout(30):
            while len(list(hungry.folder.disk.glob("sandbox/*/holding"))) < 4:
                await asyncio.sleep(0.02)
        watchdog = Watchdog(settings, sandboxes.all)
        await watchdog.look()
        await watchdog.close()
        assert (await work).code == 137
        assert re.search(r"its processes use \d+ MB of memory, and may use 256", hungry.verdicts.ending)
        assert modest.box is not None


@pytest.mark.bwrap
async def test_the_kernel_ends_sandboxes_before_the_engine(sandbox: Sandbox) -> None:
    ran = await sandbox.run_process("cat", ["/proc/self/oom_score_adj"], capture_output=True)
    assert ran.stdout == "500\n"


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


def test_version_2_hands_on_to_our_groups_what_it_was_handed(tmp_path: Path) -> None:
    place = tmp_path / "own" / f"preview-engine-{os.getpid()}"
    place.mkdir(parents=True)
    (tmp_path / "own" / "cgroup.subtree_control").write_text("cpu hugetlb memory pids\n")
    (place / "cgroup.subtree_control").touch()
    ControlGroups.find(tmp_path, "0::/own\n")
    assert (place / "cgroup.subtree_control").read_text() == "+cpu +memory +pids"


def test_version_1_needs_both_hierarchies(tmp_path: Path) -> None:
    own = "4:memory:/a\n3:cpu,cpuacct:/\n2:pids:/b\n0::/\n"
    (tmp_path / "memory" / "a").mkdir(parents=True)
    assert ControlGroups.find(tmp_path, own) is None
    (tmp_path / "pids" / "b").mkdir(parents=True)
    found = ControlGroups.find(tmp_path, own)
    assert [folder.parent for folder in found.folders] == [tmp_path / "memory" / "a", tmp_path / "pids" / "b"]


def test_limits_are_written_in_the_words_of_the_version(tmp_path: Path) -> None:
    group = ControlGroups((tmp_path,)).create("one", memory=1 << 30, processes=7, cpus=2)
    assert group.doors == [str(tmp_path / "one" / "cgroup.procs")]
    assert list((tmp_path / "one").iterdir()) == []
    (tmp_path / "one" / "memory.max").touch()
    (tmp_path / "one" / "pids.max").touch()
    (tmp_path / "one" / "cpu.max").touch()
    ControlGroups((tmp_path,)).create("one", memory=1 << 30, processes=7, cpus=2)
    assert (tmp_path / "one" / "memory.max").read_text() == str(1 << 30)
    assert (tmp_path / "one" / "pids.max").read_text() == "7"
    assert (tmp_path / "one" / "cpu.max").read_text() == "200000 100000"


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
