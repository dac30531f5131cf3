"""Sandboxes beside what they are made of, as ratios in one run: `python -m tests.benchmarks.engine`.

The rows take turns, so that whatever else the machine does falls on all of them. *Engine* is the engine's own call in
this process; *SDK* is the unmodified client over HTTP to an engine process, as the bot uses it.
"""

import argparse
import asyncio
import contextlib
import json
import os
import secrets
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from uuid import uuid4

from vercel.sandbox import Sandbox, SandboxClient, SandboxCredentials, SandboxServiceOptions, SnapshotSource

from bot.engine.errands import run_errand
from bot.engine.sandboxes import Sandboxes
from bot.engine.server import open_engine
from bot.engine.settings import DEFAULT_USER, Settings
from bot.engine.wire import CreateBody

BARE = "bare fork and exec"
FILES, FILE_BYTES = 11_000, 48_000  # about what the dependencies of a Next.js app are
FILL = f"""
import os
for number in range({FILES}):
    folder = f"node_modules/package{{number // 100}}"
    os.makedirs(folder, exist_ok=True)
    with open(f"{{folder}}/file{{number}}", "wb") as file:
        file.write(os.urandom({FILE_BYTES}))
"""
Row = Callable[[], Awaitable[None]]


def bare() -> None:
    subprocess.run(["/bin/true"], check=True)


def bubblewrap_alone() -> None:
    """All namespaces, the same system folders; never as root."""
    words = [
        *("bwrap", "--unshare-all", "--ro-bind", "/usr", "/usr", "--symlink", "usr/bin", "/bin"),
        *("--symlink", "usr/lib", "/lib", "--symlink", "usr/lib64", "/lib64", "--proc", "/proc", "--dev", "/dev"),
        *("--tmpfs", "/tmp", "--die-with-parent", "/bin/true"),
    ]
    user = {"user": DEFAULT_USER, "group": DEFAULT_USER, "extra_groups": []} if os.getuid() == 0 else {}
    subprocess.run(words, check=True, cwd="/", **user)


class OfTheEngine:
    """Calls of an engine in this process."""

    def __init__(self, sandboxes: Sandboxes) -> None:
        self._sandboxes = sandboxes

    async def exec(self) -> None:
        sandbox = next(iter(self._sandboxes.all()))
        assert sandbox.box
        owner = sandbox.workshop.owner
        ended = await run_errand(sandbox.box.guest, ["true"], owner=owner, cwd="/", env=sandbox.environment)
        assert ended.code == 0


class OfTheSdk:
    """Calls over HTTP. What they create is destroyed outside of the measurement."""

    def __init__(self, client: SandboxClient, running: Sandbox, snapshot_id: str) -> None:
        self._client, self._running, self._snapshot_id = client, running, snapshot_id
        self.created: list[Sandbox] = []

    async def exec(self) -> None:
        await self._running.run_process("true", check=True)

    async def create(self) -> None:
        self.created.append(await self._client.create_sandbox(name=_name(), persistent=False))

    async def create_and_exec(self) -> None:
        await self.create()
        await self.created[-1].run_process("true", check=True)

    async def create_from_snapshot(self) -> None:
        source = SnapshotSource(snapshot_id=self._snapshot_id)
        self.created.append(await self._client.create_sandbox(name=_name(), persistent=False, source=source))

    async def create_from_snapshot_and_exec(self) -> None:
        await self.create_from_snapshot()
        await self.created[-1].run_process("true", check=True)

    async def clear(self) -> None:
        while self.created:
            await self.created.pop().destroy()


@contextlib.asynccontextmanager
async def engine_process(folder: Path) -> AsyncIterator[SandboxClient]:
    token = secrets.token_hex(16)
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "bot.engine", "--data", str(folder)),
        env={**os.environ, "PREVIEW_ENGINE_TOKEN": token},
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
    )
    assert process.stdout
    url = json.loads(await process.stdout.readline())["url"]

    async def credentials() -> SandboxCredentials:
        return SandboxCredentials(token=token, team_id="team", project_id="project")

    client = SandboxClient.create(options=SandboxServiceOptions(base_url=url, credentials_factory=credentials))
    try:
        yield client
    finally:
        await client.aclose()
        process.terminate()
        await process.wait()


async def measure(rounds: int) -> tuple[dict[str, float], dict[str, float]]:
    """Milliseconds, the median of each row; and what taking the snapshot took, with its MB."""
    with tempfile.TemporaryDirectory(prefix="engine-benchmark-") as name:
        async with (
            open_engine(Settings(Path(name, "here")), "127.0.0.1") as (sandboxes, _),
            engine_process(Path(name, "process")) as client,
        ):
            await sandboxes.create(CreateBody())
            seed = await client.create_sandbox(name="seed", persistent=False)
            await seed.run_process("/usr/bin/python3", ["-c", FILL], check=True)
            began = time.perf_counter()
            snapshot = await seed.snapshot()
            taken = {"snapshot_ms": _milliseconds(began), "snapshot_mb": snapshot.size_bytes / 1e6}
            running = await client.create_sandbox(name="running", persistent=False)
            sdk, engine = OfTheSdk(client, running, snapshot.id), OfTheEngine(sandboxes)
            rows: dict[str, Row] = {
                BARE: lambda: asyncio.to_thread(bare),
                "exec, engine": engine.exec,
                "exec, SDK": sdk.exec,
                "create, SDK": sdk.create,
                "create to first exec, SDK": sdk.create_and_exec,
                "create from 500 MB, SDK": sdk.create_from_snapshot,
                "create from 500 MB to first exec, SDK": sdk.create_from_snapshot_and_exec,
            }
            if shutil.which("bwrap"):
                rows["bubblewrap alone"] = lambda: asyncio.to_thread(bubblewrap_alone)
            return await _take_turns(rows, rounds, sdk.clear), taken


async def _take_turns(rows: dict[str, Row], rounds: int, clear: Row) -> dict[str, float]:
    times: dict[str, list[float]] = {name: [] for name in rows}
    for number in range(rounds + 1):
        for name, row in rows.items():
            began = time.perf_counter()
            await row()
            if number:  # the first round warms up
                times[name].append(_milliseconds(began))
        await clear()
    return {name: statistics.median(column) for name, column in times.items()}


def _milliseconds(began: float) -> float:
    return (time.perf_counter() - began) * 1000


def _name() -> str:
    return f"benchmark-{uuid4().hex}"


def main() -> None:
    """Print a table and one JSON line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=20)
    rows, taken = asyncio.run(measure(parser.parse_args().rounds))
    for name, milliseconds in sorted(rows.items(), key=lambda row: row[1]):
        sys.stdout.write(f"{name:<40}{milliseconds:8.2f} ms {milliseconds / rows[BARE]:7.1f} x bare\n")
    sys.stdout.write(f"{'stop and snapshot, SDK':<40}{taken['snapshot_ms']:8.2f} ms, {taken['snapshot_mb']:.0f} MB\n")
    sys.stdout.write(json.dumps({"rows_ms": rows, **taken}) + "\n")


if __name__ == "__main__":
    main()
