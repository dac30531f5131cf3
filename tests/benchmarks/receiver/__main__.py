"""`python -m tests.benchmarks.receiver`: CPU per delivery, side by side in one run; a table and one JSON line.

Absolute rates depend on the machine and on what else it does; the ratios are what counts. The bar is 1.5.
"""

import json
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import click
from rich.console import Console
from rich.table import Table

from tests.benchmarks.receiver.load import send
from tests.benchmarks.receiver.process import cpu_seconds, receiver

HERE = Path(__file__).parent
SECRET = "It's a Secret to Everybody"
DECODE, STORE = "ours: verify + decode", "ours: verify + store (SQLite)"
PROBOT, OCTOKIT = "probot", "@octokit/webhooks"

Command = Sequence[str | Path]


@dataclass(frozen=True, slots=True)
class Round:
    """One receiver under load for a few seconds."""

    cpu_us: float
    per_second: float
    p50_ms: float
    p99_ms: float


@click.command()
@click.option("--seconds", default=5, show_default=True, help="How long each round lasts.")
@click.option("--rounds", default=3, show_default=True, help="How often each receiver is measured, in turn.")
@click.option("--connections", default=16, show_default=True)
def main(seconds: int, rounds: int, connections: int) -> None:
    """Measure, print."""
    console = Console(stderr=True)
    if not shutil.which("wrk"):
        console.print("wrk is not installed (Debian: apt-get install wrk): using a slower client of our own")
    with tempfile.TemporaryDirectory(prefix="receiver-benchmark-") as name:
        commands = _commands(Path(name), console)
        measured: dict[str, list[Round]] = {receiver_name: [] for receiver_name in commands}
        for number in range(rounds):
            for receiver_name, command in commands.items():
                console.print(f"round {number + 1} of {rounds}: {receiver_name}")
                measured[receiver_name].append(_measure(command, Path(name), seconds, connections))
    _show(measured)


def _commands(folder: Path, console: Console) -> dict[str, Command]:
    ours = [sys.executable, "-m", "tests.benchmarks.receiver.ours", "{port}"]
    commands: dict[str, Command] = {DECODE: ours, STORE: [*ours, folder]}
    missing = [tool for tool in ("node", "npm") if not shutil.which(tool)]
    if missing:
        console.print(f"{' and '.join(missing)} not installed: only our own receiver is measured, there is no ratio")
        return commands
    peers = folder / "peers"
    shutil.copytree(HERE / "peers", peers)
    console.print("npm install probot @octokit/webhooks")
    installed = subprocess.run(
        ["npm", "install", "--no-audit", "--no-fund", "--loglevel=error"], cwd=peers, check=False, timeout=300
    )
    if installed.returncode:
        raise SystemExit("npm install failed (see above): is the registry reachable?")
    return commands | {PROBOT: ["node", peers / "probot.js"], OCTOKIT: ["node", peers / "octokit.js"]}


def _measure(command: Command, folder: Path, seconds: int, connections: int) -> Round:
    (folder / "bot.sqlite").unlink(missing_ok=True)
    with receiver(command, SECRET) as (pid, port):
        send(port, SECRET, seconds=2, connections=connections)
        before = cpu_seconds(pid)
        load = send(port, SECRET, seconds=seconds, connections=connections)
        spent = cpu_seconds(pid) - before
    if load.failed:
        raise SystemExit(f"{load.failed} of {load.answered} deliveries failed: nothing to compare")
    return Round(spent / load.answered * 1e6, load.answered / load.seconds, load.p50_ms, load.p99_ms)


def _show(measured: Mapping[str, Sequence[Round]]) -> None:
    table = Table("receiver", "CPU µs per delivery", "deliveries/s", "p50 ms", "p99 ms", "CPU against ours")
    costs = {name: statistics.median(each.cpu_us for each in rounds) for name, rounds in measured.items()}
    for name, rounds in measured.items():
        spread = f"{min(each.cpu_us for each in rounds):.0f} to {max(each.cpu_us for each in rounds):.0f}"
        best = max(rounds, key=lambda each: each.per_second)
        table.add_row(
            name,
            f"{costs[name]:.0f} ({spread})",
            f"{best.per_second:,.0f}",
            f"{best.p50_ms:.2f}",
            f"{best.p99_ms:.2f}",
            f"{costs[name] / costs[DECODE]:.2f}",
        )
    Console(width=120).print(table)
    ratios = {f"{name}_ratio": round(costs[name] / costs[DECODE], 2) for name in (PROBOT, OCTOKIT) if name in costs}
    click.echo(json.dumps({"cpu_us": {name: round(cost, 1) for name, cost in costs.items()}, **ratios}))


if __name__ == "__main__":
    main()
