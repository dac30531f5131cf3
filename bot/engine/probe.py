"""Run inside a fresh sandbox by the engine's start-up check: prints as JSON what a command there can see and do.

A script for `python3 -I -S`, standard library only. Its argument is a port that the host listens on.
"""

import json
import os
import socket
import sys
from pathlib import Path


def main() -> None:
    status = _status()
    found = {
        "uid": os.getuid(),
        "host_uid": _host_uid(),
        "capabilities": int(status["CapEff"], 16) | int(status["CapPrm"], 16) | int(status["CapBnd"], 16),
        "no_new_privileges": status["NoNewPrivs"] == "1",
        "filtered": status["Seccomp"] == "2",
        "core_pattern_writable": _can_open_for_writing("/proc/sys/kernel/core_pattern"),
        "host_reachable": _reaches_host(int(sys.argv[1])),
        "init_environment": _init_environment(),
        "environment": sorted(os.environ),
    }
    sys.stdout.write(json.dumps(found))


def _status() -> dict[str, str]:
    lines = Path("/proc/self/status").read_text().splitlines()
    return {name: value.strip() for name, _, value in (line.partition(":") for line in lines)}


def _host_uid() -> int:
    """What our uid is one namespace further out; 0 would be the host's root, or nothing that we can tell apart."""
    return int(Path("/proc/self/uid_map").read_text().split()[1])


def _can_open_for_writing(path: str) -> bool:
    try:
        os.close(os.open(path, os.O_WRONLY))
    except OSError:
        return False
    return True


def _reaches_host(port: int) -> bool:
    with socket.socket() as probe:
        probe.settimeout(2)
        return probe.connect_ex(("127.0.0.1", port)) == 0


def _init_environment() -> str:
    try:
        return Path("/proc/1/environ").read_text()
    except OSError:
        return ""


if __name__ == "__main__":
    main()
