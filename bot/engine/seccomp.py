"""The system call filter of every sandbox, as a BPF program for `bwrap --seccomp`.

Written by hand because the usual binding needs libseccomp's shared library on the host; the program is a flat list of
comparisons (https://docs.kernel.org/userspace-api/seccomp_filter.html). It is a deny list on top of namespaces and
empty capabilities: it takes away what those two do not confine (vsock, keyrings, new user namespaces, io_uring, …).
"""

import errno
import platform
import struct
from dataclasses import dataclass

_LOAD_WORD = 0x20  # BPF_LD | BPF_W | BPF_ABS
_JUMP_EQUAL = 0x15  # BPF_JMP | BPF_JEQ | BPF_K
_JUMP_AT_LEAST = 0x35  # BPF_JMP | BPF_JGE | BPF_K
_JUMP_ANY_BIT = 0x45  # BPF_JMP | BPF_JSET | BPF_K
_RETURN = 0x06  # BPF_RET | BPF_K
_ALLOW = 0x7FFF0000
_KILL_PROCESS = 0x80000000
_FAIL = 0x00050000  # SECCOMP_RET_ERRNO; the low 16 bits are the errno

# Offsets in struct seccomp_data; arguments are 64 bits wide and their low word comes first on both our machines.
_NUMBER, _ARCHITECTURE, _ARGUMENT_0, _ARGUMENT_1, _ARGUMENT_2 = 0, 4, 16, 24, 32

_CLONE_NEW_ANYTHING = 0x7E020000  # CLONE_NEWNS, CGROUP, UTS, IPC, USER, PID, NET
_TERMINAL_INJECTION = (0x5412, 0x541C)  # TIOCSTI, TIOCLINUX: typing into somebody else's terminal
_UNIX, _INET, _INET6, _NETLINK = 1, 2, 10, 16
_X32_BIT = 0x40000000

_ONE_NUMBER_EVERYWHERE = {
    "io_uring_setup": 425,
    "io_uring_enter": 426,
    "io_uring_register": 427,
    "open_tree": 428,
    "move_mount": 429,
    "fsopen": 430,
    "fsconfig": 431,
    "fsmount": 432,
    "fspick": 433,
    "pidfd_getfd": 438,
    "mount_setattr": 442,
    "quotactl_fd": 443,
    "memfd_secret": 447,
    "open_tree_attr": 467,
}
# fmt: off
# A table of numbers reads better in rows.
_X86_64 = {
    "personality": 135, "adjtimex": 159, "chroot": 161, "acct": 163, "settimeofday": 164, "mount": 165,
    "umount2": 166, "swapon": 167, "swapoff": 168, "reboot": 169, "sethostname": 170, "setdomainname": 171,
    "iopl": 172, "ioperm": 173, "init_module": 175, "delete_module": 176, "quotactl": 179, "nfsservctl": 180,
    "ptrace": 101, "syslog": 103, "uselib": 134, "vhangup": 153, "pivot_root": 155, "_sysctl": 156,
    "lookup_dcookie": 212, "clock_settime": 227, "mbind": 237, "set_mempolicy": 238, "kexec_load": 246,
    "add_key": 248, "request_key": 249, "keyctl": 250, "migrate_pages": 256, "unshare": 272, "move_pages": 279,
    "perf_event_open": 298, "fanotify_init": 300, "name_to_handle_at": 303, "open_by_handle_at": 304,
    "clock_adjtime": 305, "setns": 308, "process_vm_readv": 310, "process_vm_writev": 311, "kcmp": 312,
    "finit_module": 313, "kexec_file_load": 320, "bpf": 321, "userfaultfd": 323,
}
_AARCH64 = {
    "lookup_dcookie": 18, "umount2": 39, "mount": 40, "pivot_root": 41, "nfsservctl": 42, "chroot": 51,
    "vhangup": 58, "quotactl": 60, "acct": 89, "personality": 92, "unshare": 97, "kexec_load": 104,
    "init_module": 105, "delete_module": 106, "clock_settime": 112, "syslog": 116, "ptrace": 117, "reboot": 142,
    "sethostname": 161, "setdomainname": 162, "settimeofday": 170, "adjtimex": 171, "add_key": 217,
    "request_key": 218, "keyctl": 219, "swapon": 224, "swapoff": 225, "mbind": 235, "set_mempolicy": 237,
    "migrate_pages": 238, "move_pages": 239, "perf_event_open": 241, "fanotify_init": 262, "name_to_handle_at": 264,
    "open_by_handle_at": 265, "clock_adjtime": 266, "setns": 268, "process_vm_readv": 270, "process_vm_writev": 271,
    "kcmp": 272, "finit_module": 273, "bpf": 280, "userfaultfd": 282, "kexec_file_load": 294,
}
# fmt: on
_HARMLESS = {"personality"}  # setarch and some language runtimes ask for it, and it gives no power


@dataclass(frozen=True, slots=True)
class _Machine:
    audit_architecture: int
    denied: dict[str, int]
    clone: int
    clone3: int
    socket: int
    ioctl: int


_MACHINES = {
    "x86_64": _Machine(0xC000003E, _X86_64, clone=56, clone3=435, socket=41, ioctl=16),
    "aarch64": _Machine(0xC00000B7, _AARCH64, clone=220, clone3=435, socket=198, ioctl=29),
}


class UnknownMachine(Exception):
    """There is no system call table for this machine, so nothing can be filtered on it."""


def build_filter(machine: str | None = None) -> bytes:
    """The filter for `machine` (default: this one) as the `struct sock_filter` array that bubblewrap reads.

    Raises `UnknownMachine` for anything but x86_64 and aarch64.
    """
    name = machine or platform.machine()
    if name not in _MACHINES:
        raise UnknownMachine(f"no system call filter for {name}")
    table = _MACHINES[name]
    denied = {**_ONE_NUMBER_EVERYWHERE, **table.denied}
    program = _check_architecture(table)
    for number in sorted(number for call, number in denied.items() if call not in _HARMLESS):
        program += _when(_JUMP_EQUAL, number, [_fail(errno.EPERM)])
    # glibc falls back to clone, whose flags a filter can read, only when clone3 seems not to exist.
    program += _when(_JUMP_EQUAL, table.clone3, [_fail(errno.ENOSYS)])
    program += _when(_JUMP_EQUAL, table.clone, _check_clone())
    program += _when(_JUMP_EQUAL, table.ioctl, _check_ioctl())
    program += _when(_JUMP_EQUAL, table.socket, _check_socket())
    return b"".join([*program, _allow()])


def _check_architecture(table: _Machine) -> list[bytes]:
    return [
        _load(_ARCHITECTURE),
        _instruction(_JUMP_EQUAL, table.audit_architecture, when_true=1),
        _instruction(_RETURN, _KILL_PROCESS),
        _load(_NUMBER),
        *_when(_JUMP_AT_LEAST, _X32_BIT, [_fail(errno.EPERM)]),
    ]


def _check_clone() -> list[bytes]:
    return [_load(_ARGUMENT_0), *_when(_JUMP_ANY_BIT, _CLONE_NEW_ANYTHING, [_fail(errno.EPERM)]), _allow()]


def _check_ioctl() -> list[bytes]:
    checks = [check for request in _TERMINAL_INJECTION for check in _when(_JUMP_EQUAL, request, [_fail(errno.EPERM)])]
    return [_load(_ARGUMENT_1), *checks, _allow()]


def _check_socket() -> list[bytes]:
    """Allow UNIX, INET and INET6, and of NETLINK only routes: what listing one's interfaces takes."""
    allowed = [check for family in (_UNIX, _INET, _INET6) for check in _when(_JUMP_EQUAL, family, [_allow()])]
    routes_only = [_load(_ARGUMENT_2), *_when(_JUMP_EQUAL, 0, [_allow()]), _fail(errno.EAFNOSUPPORT)]
    return [_load(_ARGUMENT_0), *allowed, *_when(_JUMP_EQUAL, _NETLINK, routes_only), _fail(errno.EAFNOSUPPORT)]


def _when(jump: int, value: int, then: list[bytes]) -> list[bytes]:
    return [_instruction(jump, value, when_false=len(then)), *then]


def _instruction(code: int, value: int, *, when_true: int = 0, when_false: int = 0) -> bytes:
    return struct.pack("=HBBI", code, when_true, when_false, value)


def _load(offset: int) -> bytes:
    return _instruction(_LOAD_WORD, offset)


def _allow() -> bytes:
    return _instruction(_RETURN, _ALLOW)


def _fail(error: int) -> bytes:
    return _instruction(_RETURN, _FAIL | error)
