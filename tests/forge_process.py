"""A forge as a process: started, stopped, killed. Synchronous; `tests.forge_driver` drives it once it runs."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any, Self


class ForgeProcess:
    """The process itself. Synchronous; a folder that was used before goes on where it stopped."""

    def __init__(self, folder: Path, process: "subprocess.Popen[str]", greeting: dict[str, Any]) -> None:
        self.folder = folder
        self.url: str = greeting["url"]
        self.api: str = greeting["api"]
        self.admin_token: str = greeting["admin_token"]
        self.pid: int = greeting["pid"]
        self._process = process

    @classmethod
    def start(cls, folder: Path, *, port: int = 0) -> Self:
        """Start a forge and wait until it listens. Raises RuntimeError when it ends instead."""
        arguments = [sys.executable, "-m", "bot.forge", "--data", str(folder), "--port", str(port)]
        log = folder.with_suffix(".log").open("ab")
        with log:
            process = subprocess.Popen(arguments, stdout=subprocess.PIPE, stderr=log, text=True)
        assert process.stdout is not None
        line = process.stdout.readline()
        if not line:
            process.stdout.close()
            raise RuntimeError(f"the forge ended with {process.wait()}: {folder.with_suffix('.log').read_text()}")
        return cls(folder, process, json.loads(line))

    def log(self) -> str:
        """What it has logged so far."""
        return self.folder.with_suffix(".log").read_text()

    def stop(self) -> int:
        """Ask it to stop, and return its exit code."""
        self._process.terminate()
        return self._gone()

    def kill(self) -> int:
        """End it without a chance to tidy up, as a power cut would."""
        self._process.kill()
        return self._gone()

    def _gone(self) -> int:
        code = self._process.wait(timeout=15)
        if self._process.stdout:
            self._process.stdout.close()
        return code
