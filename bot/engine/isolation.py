"""Whether this machine really isolates a sandbox: one is made and looked at from inside, and any doubt refuses.

Needs no engine running; `check_isolation` is also what a diagnosis of the operator's machine shows.
"""

import json
import os
import socket
import tempfile
from dataclasses import dataclass, replace
from pathlib import Path
from uuid import uuid4

from bot.engine import rootfs
from bot.engine.box import Box, launch
from bot.engine.bubblewrap import GUEST_ID
from bot.engine.errands import run_errand
from bot.engine.errors import EngineError, IsolationError, LaunchError
from bot.engine.guest import GuestError
from bot.engine.launcher import Launcher
from bot.engine.limits import process_limits
from bot.engine.policy import Mode, NetworkPolicy
from bot.engine.rootfs import Rootfs
from bot.engine.settings import Settings
from bot.engine.storage import SandboxFolder, Trash, lock

_MEMORY = 1024
_APPARMOR = Path("/proc/sys/kernel/apparmor_restrict_unprivileged_userns")
_USER_NAMESPACES = (Path("/proc/sys/kernel/unprivileged_userns_clone"), Path("/proc/sys/user/max_user_namespaces"))
_CONTAINER_MARKS = (Path("/.dockerenv"), Path("/run/.containerenv"))
_DOCKER = "docker run " + " ".join(
    f"--security-opt {option}=unconfined" for option in ("seccomp", "apparmor", "systempaths")
)


@dataclass(frozen=True, slots=True)
class Isolation:
    """What holds on this machine. `host_uid` owns what an escape from a sandbox would get."""

    bubblewrap: str
    python: str
    host_uid: int


async def check_isolation(settings: Settings | None = None) -> Isolation:
    """Make a sandbox in a folder of its own and look around in it. Raises `IsolationError` with reason and remedy."""
    with tempfile.TemporaryDirectory(prefix="preview-isolation-") as folder:
        chosen = replace(settings or Settings(Path(folder)), data=Path(folder))
        held = lock(chosen)
        try:
            surroundings = rootfs.prepare(chosen)
            launcher = await start_launcher(chosen, surroundings)
            try:
                return await inspect_sandbox(chosen, launcher, surroundings)
            finally:
                await launcher.close()
        finally:
            os.close(held)


async def start_launcher(settings: Settings, surroundings: Rootfs) -> Launcher:
    """Raises `IsolationError`."""
    try:
        return await Launcher.start(user=settings.user, folders=surroundings.folders)
    except EngineError as error:
        raise IsolationError(str(error), advise(str(error))) from error


async def inspect_sandbox(settings: Settings, launcher: Launcher, surroundings: Rootfs) -> Isolation:
    """Raises `IsolationError` if a sandbox cannot be made, or does not hold what it promises."""
    folder = SandboxFolder(settings.sandboxes / f"check_{uuid4().hex}")
    folder.create()
    folder.create_disk(settings.user)
    trash = Trash(settings, launcher)
    try:
        found = await _look_around(settings, launcher, surroundings, folder)
    except (LaunchError, GuestError, TimeoutError, ValueError) as error:
        raise IsolationError(f"no sandbox can be made here: {error}", advise(str(error))) from error
    finally:
        trash.discard(folder)
        await trash.close()
    if broken := broken_promises(found):
        raise IsolationError(
            f"a sandbox on this machine does not isolate: {'; '.join(broken)}",
            "Run the engine as an ordinary user, and report this together with `uname -a`.",
        )
    return Isolation(surroundings.bwrap, surroundings.python, settings.user if os.getuid() == 0 else os.getuid())


def broken_promises(found: dict[str, object]) -> list[str]:
    """Every way in which what `probe.py` found is not what a sandbox promises."""
    promises = {
        "commands run as another user than expected": found["uid"] == GUEST_ID,
        "commands have capabilities": found["capabilities"] == 0,
        "commands could gain privileges": found["no_new_privileges"] is True,
        "system calls are not filtered": found["filtered"] is True,
        "kernel settings can be written": found["core_pattern_writable"] is False,
        "the host's loopback can be reached": found["host_reachable"] is False,
        "the environment of PID 1 can be read": found["init_environment"] == "",
        "the environment is not empty": found["environment"] == ["LC_CTYPE"] or found["environment"] == [],
    }
    return [broken for broken, kept in promises.items() if not kept]


def advise(reason: str) -> str:
    """What the operator can do about it, from the reason and this machine's settings."""
    if _read_number(_APPARMOR) == 1:
        return (
            "Ubuntu restricts user namespaces: run `sysctl -w kernel.apparmor_restrict_unprivileged_userns=0`, "
            "or give bubblewrap an AppArmor profile that allows `userns`."
        )
    for setting in _USER_NAMESPACES:
        if _read_number(setting) == 0:
            name = ".".join(setting.parts[3:])
            return f"User namespaces are switched off: `sysctl -w {name}={1 if 'clone' in name else 15000}`."
    if any(mark.exists() for mark in _CONTAINER_MARKS):
        return f"In a container namespaces must be allowed: `{_DOCKER} …`."
    if "No such file" in reason and "bwrap" in reason:
        return "Install bubblewrap: `apt install bubblewrap`."
    return "The kernel must allow user, network, mount and PID namespaces (CONFIG_USER_NS, CONFIG_NET_NS)."


async def _look_around(
    settings: Settings, launcher: Launcher, surroundings: Rootfs, folder: SandboxFolder
) -> dict[str, object]:
    box = await launch(
        launcher,
        surroundings,
        disk=f"{launcher.folders['data']}/sandboxes/{folder.path.name}/disk",
        limits=process_limits(settings, _MEMORY),
        policy=NetworkPolicy(Mode.DENY_ALL),
    )
    try:
        with socket.create_server(("127.0.0.1", 0)) as listener:
            return await _probe(box, surroundings, settings.user, listener.getsockname()[1])
    finally:
        await box.close()


async def _probe(box: Box, surroundings: Rootfs, owner: int, port: int) -> dict[str, object]:
    script = Path(__file__).with_name("probe.py").read_text()
    argv = [surroundings.python, "-I", "-S", "-c", script, str(port)]
    ended = await run_errand(box.guest, argv, owner=owner, cwd="/", env={})
    if ended.code:
        raise ValueError(ended.output.strip() or f"the probe ended with {ended.code}")
    found: dict[str, object] = json.loads(ended.output)
    return found


def _read_number(path: Path) -> int | None:
    try:
        return int(path.read_text())
    except (OSError, ValueError):
        return None
