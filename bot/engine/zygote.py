"""The process that starts sandboxes and host commands as the unprivileged user: forked from, never imported by, others.

A process of its own because what it does (fork, change user, unshare namespaces) is not safe in the engine's threads,
and because a fork of something small starts faster than a new interpreter. It is the parent of every bubblewrap, so
when the engine's end of its socket closes it ends, and `--die-with-parent` ends all of them.

    python -m bot.engine.zygote FD UID NAME=PATH…     FD: SEQPACKET socket of JSON with descriptors beside it

As root every folder PATH is bound to a place that UID can reach, since `/root` or a private data folder may not be.
"""

import ctypes
import fcntl
import json
import os
import resource
import select
import signal
import socket
import sys
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

from bot.engine import netlink
from bot.engine.descriptors import receive

FIRST_DESCRIPTOR = 10  # the descriptors of a request appear from this number on in what it starts
_MAX_MESSAGE, _MAX_DESCRIPTORS = 1 << 17, 32
_DNS_PORT = 53
_FALLBACK_PORTS = (80, 443)
_PARKING = 200  # above every target number, so that moving descriptors never overwrites one

_CLONE_NEWNS, _CLONE_NEWUSER, _CLONE_NEWNET = 0x20000, 0x10000000, 0x40000000
_MS_NOSUID, _MS_NODEV, _MS_BIND, _MS_REC, _MS_PRIVATE = 2, 4, 4096, 16384, 1 << 18
_PR_SET_PDEATHSIG, _PR_SET_DUMPABLE = 1, 4
_FIRST_TO_GO, _NICENESS = "500", 5
# Directories that exist everywhere and that no program needs: one becomes our private meeting place.
_MEETING_PLACES = ("/media", "/mnt", "/srv")

_libc = ctypes.CDLL(None, use_errno=True)
Request = dict[str, Any]


def main(argv: list[str]) -> None:
    control, user = socket.socket(fileno=int(argv[0])), int(argv[1])
    folders = dict(pair.split("=", 1) for pair in argv[2:])
    control.set_inheritable(False)
    reachable = make_reachable(folders) if os.getuid() == 0 else folders
    control.send(json.dumps({"event": "ready", "folders": reachable}).encode())
    serve(control, user)


def make_reachable(folders: dict[str, str]) -> dict[str, str]:
    """Bind every folder below a directory that all users can enter, in a mount namespace that only we see.

    Without the capability to mount (root in a plain container) the folders stay where they are.
    """
    try:
        _check(_libc.unshare(_CLONE_NEWNS))
    except PermissionError:
        return folders
    _check(_libc.mount(b"none", b"/", None, _MS_REC | _MS_PRIVATE, None))
    sources = {name: os.open(path, os.O_PATH | os.O_DIRECTORY) for name, path in folders.items()}
    place = next(place for place in _MEETING_PLACES if Path(place).is_dir())
    _check(_libc.mount(b"tmpfs", place.encode(), b"tmpfs", 0, b"mode=0755,size=64k"))
    reachable = {}
    for name, source in sources.items():
        target = Path(place, name)
        target.mkdir()
        _check(_libc.mount(f"/proc/self/fd/{source}".encode(), str(target).encode(), None, _MS_BIND | _MS_REC, None))
        os.close(source)
        reachable[name] = str(target)
    return reachable


def serve(control: socket.socket, user: int) -> None:
    children: dict[int, int] = {}  # pid -> id of the request that started it
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C in a terminal is for the engine, which then lets us go
    signal.signal(signal.SIGCHLD, lambda *_: None)
    wakeup, wakeup_writer = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
    signal.set_wakeup_fd(wakeup_writer, warn_on_full_buffer=False)
    poll = _poll(control.fileno(), wakeup)
    while True:
        for descriptor in poll():
            if descriptor == wakeup:
                os.read(wakeup, 4096)
                _reap(control, children)
            elif not _answer(control, user, children):
                return


def _poll(*descriptors: int) -> Callable[[], list[int]]:
    poll = select.poll()
    for descriptor in descriptors:
        poll.register(descriptor, select.POLLIN)
    return lambda: [descriptor for descriptor, _ in poll.poll()]


def _reap(control: socket.socket, children: dict[int, int]) -> None:
    while children:
        pid, status = os.waitpid(-1, os.WNOHANG)
        if pid == 0:
            return
        event = {"event": "exit", "id": children.pop(pid), "code": os.waitstatus_to_exitcode(status)}
        control.send(json.dumps(event).encode())


def _answer(control: socket.socket, user: int, children: dict[int, int]) -> bool:
    """Serve one request; false when the engine is gone."""
    data, descriptors = receive(control, _MAX_MESSAGE, _MAX_DESCRIPTORS)
    if not data:
        return False
    request = json.loads(data)
    if request["do"] == "kill":
        for pid in [pid for pid, started_by in children.items() if started_by == request["id"]]:
            _kill_group(pid)
        return True
    pid = os.fork()
    if pid == 0:
        control.close()
        _become(request, descriptors, user)
    children[pid] = request["id"]
    control.send(json.dumps({"event": "started", "id": request["id"], "pid": pid}).encode())
    for descriptor in descriptors:
        os.close(descriptor)
    return True


def _kill_group(leader: int) -> None:
    try:
        os.killpg(leader, signal.SIGKILL)
    except ProcessLookupError:  # forked a moment ago, and not yet the leader of a group
        os.kill(leader, signal.SIGKILL)


def _become(request: Request, descriptors: list[int], user: int) -> None:
    """In a forked child: turn into what was asked for, or write the reason to its standard error and exit."""
    try:
        os.setsid()
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        for door in request.get("doors", ()):  # before the user changes, who may not enter
            Path(door).write_text(str(os.getpid()))
        parked = [fcntl.fcntl(descriptor, fcntl.F_DUPFD_CLOEXEC, _PARKING) for descriptor in descriptors]
        _drop_privileges(user)
        {"sandbox": _become_sandbox, "command": _become_command}[request["do"]](request, parked)
    except BaseException as error:
        reason = error if isinstance(error, OSError) else traceback.format_exc()
        os.write(2, f"{request['do']}: {reason}\n".encode())
    finally:
        os._exit(126)


def _become_command(request: Request, streams: list[int]) -> None:
    for target, stream in enumerate(streams):
        os.dup2(stream, target)
    if request["as_root"]:
        _own_namespaces(_CLONE_NEWUSER | _CLONE_NEWNS)
    for overlay in request["overlays"]:
        _mount_overlay(**overlay)
    if request.get("folder"):
        os.chdir(request["folder"])
    os.execve(request["argv"][0], request["argv"], request["env"])  # noqa: S606 - there is no shell


def _become_sandbox(request: Request, descriptors: list[int]) -> None:
    """Descriptors: where to complain, the agent's control socket, then what the bubblewrap arguments refer to."""
    complaints, control, *_ = descriptors
    os.dup2(complaints, 2)
    if not request["doors"]:
        os.nice(_NICENESS)  # no control group gives the host precedence
    _own_namespaces(_CLONE_NEWUSER | _CLONE_NEWNET | (_CLONE_NEWNS if request["overlays"] else 0))
    for overlay in request["overlays"]:
        _mount_overlay(**overlay)
    for name, value in request["limits"].items():
        resource.setrlimit(getattr(resource, name), (value, value))
    with socket.socket(fileno=os.dup(control)) as channel:
        _hand_over_network(channel)
    for target, descriptor in enumerate(descriptors[1:], FIRST_DESCRIPTOR):
        os.dup2(descriptor, target)
    # bubblewrap's own environment shows in /proc/1/environ inside, so it gets none.
    os.execve(request["argv"][0], request["argv"], {})  # noqa: S606 - there is no shell


def _own_namespaces(kinds: int) -> None:
    user, group = os.getuid(), os.getgid()
    _check(_libc.unshare(kinds))
    Path("/proc/self/setgroups").write_text("deny")
    Path("/proc/self/uid_map").write_text(f"0 {user} 1")
    Path("/proc/self/gid_map").write_text(f"0 {group} 1")


def _mount_overlay(folder: str, target: str, options: str) -> None:
    """Mount an overlay, seen by us and what we become only. The paths in it are relative to `folder`."""
    os.chdir(folder)
    kind = b"overlay"
    try:
        _check(_libc.mount(kind, target.encode(), kind, _MS_NOSUID | _MS_NODEV, options.encode()))
    except OSError as error:
        raise OSError(error.errno, f"cannot mount an overlay: {error.strerror}") from error
    os.chdir("/")


def _hand_over_network(channel: socket.socket) -> None:
    """Give the engine the listeners that all traffic of this network namespace ends at."""
    netlink.raise_loopback()
    netlink.route_everything_home()
    names = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    names.bind(("127.0.0.1", _DNS_PORT))
    redirected = socket.create_server(("127.0.0.1", 0), backlog=512)
    listeners = [redirected]
    try:
        netlink.redirect(tcp_port=redirected.getsockname()[1], dns_port=_DNS_PORT)
    except OSError:
        # No nf_tables: every address is local, so listening on the usual ports catches the usual traffic.
        redirected.close()
        listeners = [socket.create_server(("0.0.0.0", port), backlog=512) for port in _FALLBACK_PORTS]  # noqa: S104
    how = {"event": "network", "redirected": listeners == [redirected]}
    socket.send_fds(channel, [json.dumps(how).encode()], [names.fileno(), *(one.fileno() for one in listeners)])
    for one in (names, *listeners):
        one.close()


def _drop_privileges(user: int) -> None:
    """As root, become `user` before any namespace exists: real uid 0 inside a sandbox could write kernel settings."""
    if os.getuid() == 0:
        os.setgroups([])
        os.setresgid(user, user, user)
        os.setresuid(user, user, user)
        # Changing the user makes us undumpable, and /proc/self/uid_map would then belong to root.
        _check(_libc.prctl(_PR_SET_DUMPABLE, 1, 0, 0, 0))
    _check(_libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0))
    # When the machine is short of memory, the kernel is to end this before the engine or what started it.
    Path("/proc/self/oom_score_adj").write_text(_FIRST_TO_GO)


def _check(result: int) -> None:
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))


if __name__ == "__main__":
    main(sys.argv[1:])
