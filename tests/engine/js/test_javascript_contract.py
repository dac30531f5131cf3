"""The engine as programs in JavaScript see it: through `@vercel/sandbox` and the `sandbox` command, unmodified."""

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

pytestmark = pytest.mark.bwrap
HERE = Path(__file__).parent
SCENARIOS = re.findall(r"^  async (\w+)\(\)", (HERE / "contract.mjs").read_text(), re.MULTILINE)
LIMIT = 120


@pytest.fixture(scope="session")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The packages, installed beside the scenarios."""
    if shutil.which("npm") is None:
        pytest.skip("npm is not installed")
    folder = tmp_path_factory.mktemp("javascript")
    for name in ("package.json", "contract.mjs", "preload.mjs"):
        shutil.copy(HERE / name, folder)
    words = ["npm", "install", "--no-audit", "--no-fund", "--ignore-scripts"]
    installed = subprocess.run(words, cwd=folder, capture_output=True, text=True, timeout=300, check=False)
    if installed.returncode:
        pytest.skip(f"the packages cannot be installed: {installed.stderr[-300:]}")
    return folder


@pytest.fixture
def environment(engine, tmp_path: Path) -> dict[str, str]:
    """No account of the person who runs the tests is in it."""
    return {
        "PATH": os.environ["PATH"],
        "HOME": str(tmp_path),
        "ENGINE_URL": engine.url,
        "ENGINE_TOKEN": engine.token,
        "SANDBOX_DISABLE_TELEMETRY": "1",
    }


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_a_program(project: Path, environment: dict[str, str], request: pytest.FixtureRequest, scenario: str) -> None:
    if scenario == "clones_a_branch":
        repository, server = request.getfixturevalue("repository"), request.getfixturevalue("git_server")
        repository.commit(file="on the main line")
        repository.git("-C", str(repository.path), "checkout", "-q", "-b", "topic")
        repository.commit(file="on the branch")
        repository.git("-C", str(repository.path), "checkout", "-q", "main")
        environment = {**environment, "GIT_URL": f"{server.url}/app"}
    words = ["node", "contract.mjs", scenario]
    ran = subprocess.run(
        words, cwd=project, env=environment, capture_output=True, text=True, timeout=LIMIT, check=False
    )
    assert ran.returncode == 0, ran.stderr


class CommandLine:
    """`sandbox …`, with the words that say whose account it is."""

    def __init__(self, project: Path, environment: dict[str, str]) -> None:
        self.program = project / "node_modules" / ".bin" / "sandbox"
        self.environment = {**environment, "NODE_OPTIONS": f"--import {(project / 'preload.mjs').as_uri()}"}

    def __call__(self, *words: str, code: int = 0) -> str:
        command, *rest = words
        account = ["--token", self.environment["ENGINE_TOKEN"], "--scope", "team", "--project", "project"]
        argv = [str(self.program), command, *account, *rest]
        ran = subprocess.run(
            argv,
            env=self.environment,
            capture_output=True,
            text=True,
            timeout=LIMIT,
            stdin=subprocess.DEVNULL,
            check=False,
        )
        assert ran.returncode == code, ran.stdout + ran.stderr
        return ran.stdout + ran.stderr


@pytest.fixture
def command_line(project: Path, environment: dict[str, str]) -> CommandLine:
    return CommandLine(project, environment)


def test_the_command_line_takes_a_sandbox_through_its_life(command_line: CommandLine, tmp_path: Path) -> None:
    name = f"cli-{os.getpid()}"
    command_line("create", "--name", name, "--timeout", "5m")
    try:
        assert name in command_line("list")
        assert "hello" in command_line("exec", name, "echo", "hello")
        (tmp_path / "local.txt").write_text("carried")
        command_line("copy", str(tmp_path / "local.txt"), f"{name}:/vercel/sandbox/there.txt")
        assert "carried" in command_line("exec", name, "cat", "there.txt")
        command_line("stop", name)
        assert "carried" in command_line("exec", name, "cat", "there.txt")
    finally:
        command_line("remove", name)
    assert name not in command_line("list", "--all")


def test_the_command_line_passes_an_exit_code_on(command_line: CommandLine) -> None:
    name = f"cli-code-{os.getpid()}"
    command_line("create", "--name", name)
    try:
        command_line("exec", name, "sh", "-c", "exit 7", code=7)
    finally:
        command_line("remove", name)
