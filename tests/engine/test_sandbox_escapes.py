"""What hostile code in a sandbox tries, and that it gets nowhere."""

import asyncio
import os
from pathlib import Path

import pytest
from engine_process import EngineProcess
from vercel.sandbox import Sandbox, SandboxResources

pytestmark = pytest.mark.bwrap


async def shell(sandbox: Sandbox, script: str) -> str:
    ran = await sandbox.run_process("sh", ["-c", script], capture_output=True)
    return ran.stdout + ran.stderr


async def python(sandbox: Sandbox, script: str) -> str:
    ran = await sandbox.run_process("/usr/bin/python3", ["-I", "-c", script], capture_output=True)
    return ran.stdout + ran.stderr


async def test_commands_have_no_privileges_and_can_gain_none(sandbox: Sandbox) -> None:
    status = dict(line.split(":\t", 1) for line in (await shell(sandbox, "cat /proc/self/status")).splitlines())
    assert {status[f"Cap{kind}"] for kind in ("Inh", "Prm", "Eff", "Bnd", "Amb")} == {"0" * 16}
    assert (status["NoNewPrivs"], status["Seccomp"]) == ("1", "2")
    assert status["Uid"].split() == ["1000"] * 4
    assert status["Groups"].split() in ([], ["1000"])


async def test_the_host_s_view_of_a_command_is_an_unprivileged_user(engine: EngineProcess, sandbox: Sandbox) -> None:
    process = await sandbox.create_process("sleep", ["4242"])
    owners = {Path(f"/proc/{pid}").stat().st_uid for pid in engine.running(b"sleep\x004242")}
    assert owners == {200_000 if os.getuid() == 0 else os.getuid()}
    await process.kill()


@pytest.mark.parametrize(
    "path", ["/root", "/home", "/etc/shadow", "/etc/hostname", "/sys/kernel", "/var", "/boot", "/mnt"]
)
async def test_host_paths_are_absent(sandbox: Sandbox, path: str) -> None:
    assert "No such file or directory" in await shell(sandbox, f"ls {path}")


@pytest.mark.parametrize("path", ["/x", "/usr/x", "/etc/x", "/dev/x", "/run/x", "/opt/preview/bin/x", "/etc/passwd"])
async def test_nothing_but_its_own_disk_is_writable(sandbox: Sandbox, path: str) -> None:
    said = await shell(sandbox, f"echo evil >> {path} && echo written")
    assert "written" not in said


@pytest.mark.parametrize(
    "path", ["/proc/sys/kernel/core_pattern", "/proc/sys/vm/drop_caches", "/proc/sysrq-trigger", "/proc/kcore"]
)
async def test_kernel_settings_are_out_of_reach(sandbox: Sandbox, path: str) -> None:
    said = await python(sandbox, f"import os; os.open({path!r}, os.O_WRONLY); print('opened')")
    assert "opened" not in said


@pytest.mark.parametrize("name", ["environ", "mem", "maps", "fd", "cwd", "root"])
async def test_pid_1_keeps_its_secrets(sandbox: Sandbox, name: str) -> None:
    assert "Permission denied" in await shell(sandbox, f"ls -l /proc/1/{name}/ 2>&1; cat /proc/1/{name}")


async def test_pid_1_survives_signals(sandbox: Sandbox) -> None:
    await shell(sandbox, "for s in KILL STOP SEGV TERM INT HUP; do kill -$s 1; done")
    assert await shell(sandbox, "echo alive") == "alive\n"
    await python(sandbox, "import os, signal; os.setsid(); os.kill(-1, signal.SIGKILL)")
    assert await shell(sandbox, "echo alive") == "alive\n"


async def test_only_the_sandbox_s_own_processes_are_visible(sandbox: Sandbox, make_sandbox) -> None:
    other = await make_sandbox()
    await other.create_process("sleep", ["31337"])
    said = await shell(sandbox, "ps axo args")
    assert "31337" not in said
    assert "bot.engine" not in said
    assert len(said.splitlines()) < 6


async def test_the_engine_s_environment_does_not_show(engine: EngineProcess, sandbox: Sandbox) -> None:
    said = await shell(sandbox, "env; cat /proc/*/environ /proc/*/cmdline | tr '\\0' '\\n'")
    assert engine.token not in said
    assert "PREVIEW" not in said
    assert str(engine.data) not in said


SYSTEM_CALLS = {
    "mount": (165, 40),
    "umount2": (166, 39),
    "unshare": (272, 97),
    "setns": (308, 268),
    "pivot_root": (155, 41),
    "chroot": (161, 51),
    "keyctl": (250, 219),
    "add_key": (248, 217),
    "bpf": (321, 280),
    "ptrace": (101, 117),
    "process_vm_readv": (310, 270),
    "perf_event_open": (298, 241),
    "userfaultfd": (323, 282),
    "io_uring_setup": (425, 425),
    "open_by_handle_at": (304, 265),
    "init_module": (175, 105),
    "kexec_load": (246, 104),
    "fsopen": (430, 430),
    "open_tree": (428, 428),
    "pidfd_getfd": (438, 438),
    "reboot": (169, 142),
}


@pytest.mark.parametrize("name", SYSTEM_CALLS)
async def test_dangerous_system_calls_are_refused(sandbox: Sandbox, name: str) -> None:
    number = SYSTEM_CALLS[name][os.uname().machine == "aarch64"]
    script = (
        "import ctypes, errno; libc = ctypes.CDLL(None, use_errno=True);"
        f"print(libc.syscall({number}, 0, 0, 0, 0, 0, 0), errno.errorcode[ctypes.get_errno()])"
    )
    assert await python(sandbox, script) == "-1 EPERM\n"


async def test_new_namespaces_are_refused_however_they_are_asked_for(sandbox: Sandbox) -> None:
    assert "Operation not permitted" in await shell(sandbox, "unshare --user --map-root-user true")
    clone = {"x86_64": 56, "aarch64": 220}[os.uname().machine]
    for flag in (0x10000000, 0x40000000, 0x20000000, 0x00020000):
        script = (
            f"import ctypes; l = ctypes.CDLL(None, use_errno=True); print(l.syscall({clone}, {flag | 17}, 0, 0, 0, 0))"
        )
        assert await python(sandbox, script) == "-1\n"


@pytest.mark.parametrize(
    ("family", "kind"), [("AF_VSOCK", "SOCK_STREAM"), ("AF_ALG", "SOCK_SEQPACKET"), ("AF_PACKET", "SOCK_RAW")]
)
async def test_other_socket_families_do_not_exist(sandbox: Sandbox, family: str, kind: str) -> None:
    said = await python(sandbox, f"import socket; socket.socket(socket.{family}, socket.{kind}); print('made')")
    assert "Address family not supported" in said


async def test_raw_sockets_and_audit_netlink_are_refused(sandbox: Sandbox) -> None:
    raw = "import socket; socket.socket(socket.AF_INET, socket.SOCK_RAW, 1); print('made')"
    assert "PermissionError" in await python(sandbox, raw)
    audit = "import socket; socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 9); print('made')"
    assert "Address family not supported" in await python(sandbox, audit)


async def test_setuid_programs_give_nothing(sandbox: Sandbox) -> None:
    assert "uid=0" not in await shell(sandbox, "su -c id; sudo -n id; mount -o remount,rw /usr; id")


async def test_typing_into_the_terminal_is_refused(sandbox: Sandbox) -> None:
    script = "import fcntl, os; m, s = os.openpty(); fcntl.ioctl(s, 0x5412, b'x'); print('typed')"
    assert "PermissionError" in await python(sandbox, script)


async def test_the_disks_of_other_sandboxes_are_invisible(sandbox: Sandbox, make_sandbox) -> None:
    other = await make_sandbox()
    await other.fs.write_text("secret.txt", "other's")
    assert await shell(sandbox, "find / -xdev -name secret.txt 2>/dev/null; ls /vercel/sandbox") == ""


async def test_commands_inherit_no_descriptors(sandbox: Sandbox) -> None:
    listed = await python(sandbox, "import os; print(sorted(int(n) for n in os.listdir('/proc/self/fd')))")
    assert listed == "[0, 1, 2, 3]\n"


async def test_a_fork_bomb_harms_only_its_sandbox(make_sandbox) -> None:
    bombed, other = await make_sandbox(), await make_sandbox()
    script = (
        "import os, time\n"
        "count = 0\n"
        "try:\n"
        "    while count < 20000:\n"
        "        if os.fork() == 0: time.sleep(1000)\n"
        "        count += 1\n"
        "except OSError: print('stopped')\n"
    )
    assert await python(bombed, script) == "stopped\n"
    assert await shell(other, "echo fine") == "fine\n"
    await bombed.stop()


async def test_a_memory_hog_gets_no_more_than_its_share(make_sandbox) -> None:
    sandbox = await make_sandbox(resources=SandboxResources(vcpus=1, memory=2048))
    said = await python(sandbox, "x = bytearray(3 << 30); print('got it')")
    assert "MemoryError" in said


async def test_temporary_folders_have_an_end(sandbox: Sandbox) -> None:
    assert "No space left" in await shell(sandbox, "head -c 400M /dev/zero > /dev/shm/big; rm /dev/shm/big")


async def test_endless_output_neither_fills_the_disk_nor_stops_the_command(engine, sandbox: Sandbox) -> None:
    process = await sandbox.create_process("sh", ["-c", "yes 0123456789 | head -c 60000000; echo end >&2"], stdout=-1)
    output, _ = await process.communicate()
    assert await process.wait() == 0
    assert output.endswith("[output beyond 16 MiB is not kept]\n")
    assert len(output) <= 17 << 20


async def test_daemons_that_left_their_session_end_with_the_sandbox(engine: EngineProcess, make_sandbox) -> None:
    sandbox = await make_sandbox()
    before = engine.offspring()
    await shell(sandbox, "setsid sh -c 'sleep 777777 & sleep 777777' >/dev/null 2>&1 &")
    started = engine.offspring() - before
    assert started
    await sandbox.stop()
    assert not started & engine.offspring()


async def test_orphans_are_reaped(sandbox: Sandbox) -> None:
    await asyncio.gather(*(shell(sandbox, "(sh -c 'true &' &) ; true") for _ in range(10)))
    assert "defunct" not in await shell(sandbox, "ps axo stat,args | grep '^Z' ; true")
