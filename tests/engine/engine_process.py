"""A real engine process for tests, and what is left of it on the machine."""

import json
import os
import secrets
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
from vercel.sandbox import SandboxClient, SandboxCredentials, SandboxServiceOptions

REFUSED = 2
DEADLINE = 30.0


class EngineProcess:
    """Started by the constructor; `url` is its API's base URL."""

    def __init__(self, data: Path, *arguments: str, env: Mapping[str, str] | None = None) -> None:
        self.data = data
        self.token = secrets.token_hex(16)
        self.process = subprocess.Popen(
            [sys.executable, "-m", "bot.engine", "--data", str(data), "--port", "0", *arguments],
            env={**os.environ, "PREVIEW_ENGINE_TOKEN": self.token, **(env or {})},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        line = self.process.stdout.readline()
        if not line:
            self.complaint = self.process.communicate(timeout=DEADLINE)[1]
            if self.process.returncode == REFUSED and not namespaces_work():
                pytest.skip(f"this machine cannot isolate sandboxes: {self.complaint}")
            raise AssertionError(f"the engine ended with {self.process.returncode}: {self.complaint}")
        self.announcement = json.loads(line)
        self.url = self.announcement["url"]

    def client(self, token: str | None = None) -> SandboxClient:
        async def credentials() -> SandboxCredentials:
            return SandboxCredentials(token=token or self.token, team_id="team", project_id="project")

        options = SandboxServiceOptions(base_url=self.url, credentials_factory=credentials)
        return SandboxClient.create(options=options)

    def stop(self) -> int:
        """SIGTERM, and the exit code. Its log is in `complaint` then."""
        return self._end(signal.SIGTERM)

    def kill(self) -> int:
        return self._end(signal.SIGKILL)

    def offspring(self) -> set[int]:
        """Every process that descends from the engine, in whatever namespace."""
        parents = {}
        for entry in Path("/proc").iterdir():
            if entry.name.isdigit():
                try:
                    stat = (entry / "stat").read_text()
                except OSError:
                    continue
                parents[int(entry.name)] = int(stat.rpartition(")")[2].split()[1])
        found, size = {self.process.pid}, 0
        while len(found) != size:
            size = len(found)
            found |= {pid for pid, parent in parents.items() if parent in found}
        return found - {self.process.pid}

    def running(self, word: bytes) -> set[int]:
        """Of the offspring, those that have `word` on their command line."""
        return {pid for pid in self.offspring() if word in _command_line(pid)}

    def _end(self, number: int) -> int:
        if self.process.poll() is None:
            self.process.send_signal(number)
        self.complaint = self.process.communicate(timeout=DEADLINE)[1]
        return self.process.returncode


def _command_line(pid: int) -> bytes:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:  # it has ended meanwhile
        return b""


def namespaces_work() -> bool:
    """Whether the kernel lets anybody have namespaces: if it does, an engine that refuses to start is broken."""
    words = ["unshare", "--user", "--net", "--pid", "--fork", "--map-root-user", "true"]
    return subprocess.run(words, capture_output=True, check=False).returncode == 0


def is_alive(pid: int) -> bool:
    try:
        return "\nState:\tZ" not in Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return False


def wait_until(condition: Callable[[], bool]) -> None:
    """Poll until it holds; fail after the deadline."""
    end = time.monotonic() + DEADLINE
    while not condition():
        assert time.monotonic() < end, "it did not become true"
        time.sleep(0.02)
