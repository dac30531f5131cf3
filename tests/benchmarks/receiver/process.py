"""A receiver as a process: started, checked, its CPU time read from /proc, ended."""

import http.client
import os
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from tests.benchmarks.receiver.load import PATH, PAYLOAD
from webhooks.delivery import sign

TICKS = os.sysconf("SC_CLK_TCK")


@contextmanager
def receiver(command: Sequence[str | Path], secret: str) -> Iterator[tuple[int, int]]:
    """Run a receiver and yield its pid and port, once it takes a right signature and refuses a wrong one.

    `{port}` in the command is filled in; `PORT` and `WEBHOOK_SECRET` are set.
    """
    port = _free_port()
    words = [str(word).replace("{port}", str(port)) for word in command]
    environment = os.environ | {"PORT": str(port), "WEBHOOK_SECRET": secret, "NODE_ENV": "production"}
    with (
        tempfile.TemporaryFile() as output,
        subprocess.Popen(words, env=environment, stdout=output, stderr=output) as it,
    ):
        try:
            if not _opens(it, port):
                output.seek(0)
                raise SystemExit(f"{words!r} does not listen:\n{output.read()[-4000:].decode(errors='replace')}")
            _check(port, secret)
            yield it.pid, port
        finally:
            it.terminate()
            it.wait(30)


def cpu_seconds(pid: int) -> float:
    """User and system time of a process and of all that it started."""
    spent, waiting = 0, [str(pid)]
    parents = {stat.parent.name: _fields(stat) for stat in Path("/proc").glob("[0-9]*/stat")}
    while waiting:
        current = waiting.pop()
        spent += sum(int(ticks) for ticks in parents[current][11:15])
        waiting += [child for child, fields in parents.items() if fields[1:2] == [current]]
    return spent / TICKS


def _fields(stat: Path) -> list[str]:
    """The fields after the name, from the state on (proc_pid_stat(5)); none if the process has just ended."""
    try:
        return stat.read_text().rpartition(")")[2].split()
    except (FileNotFoundError, ProcessLookupError):
        return []


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port: int = listener.getsockname()[1]
        return port


def _opens(process: subprocess.Popen[bytes], port: int) -> bool:
    deadline = time.monotonic() + 30
    while process.poll() is None and time.monotonic() < deadline:
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
        except OSError:
            time.sleep(0.05)
        else:
            return True
    return False


def _check(port: int, secret: str) -> None:
    body = PAYLOAD.read_bytes()
    for signature, wanted in ((sign(body, secret), range(200, 300)), (sign(body, "wrong"), range(400, 500))):
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
        headers = {
            "content-type": "application/json",
            "x-github-event": "pull_request",
            "x-github-delivery": "00000000-0000-4000-8000-000000000000",
            "x-hub-signature-256": signature,
        }
        connection.request("POST", PATH, body, headers)
        status = connection.getresponse().status
        connection.close()
        if status not in wanted:
            raise SystemExit(f"port {port} answers {status} where {wanted} is right: nothing to compare")
