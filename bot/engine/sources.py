"""What a new sandbox starts from: a git commit or a tarball, fetched by the engine on behalf of the platform.

Fetching happens on the host, as the unprivileged user, since the sandbox's network policy does not apply to it;
whatever interprets the content (checking out, unpacking) happens inside the sandbox.
"""

import asyncio
import base64
import os
import re
import shutil
from collections.abc import AsyncIterator
from urllib.parse import urlsplit

import httpx

from bot.engine.box import Box
from bot.engine.errands import Ended, run_errand, run_on_host
from bot.engine.errors import ApiError, bad_request
from bot.engine.launcher import Launcher
from bot.engine.rootfs import CWD
from bot.engine.wire import GitSource, TarballSource

_FULL_SHA = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")
_NEAR = ("localhost", "127.0.0.1", "::1")  # reached without a proxy
_MAGIC = {b"\x1f\x8b": "--gzip", b"BZ": "--bzip2", b"\xfd7": "--xz", b"\x28\xb5": "--zstd"}


def git_environment(source: GitSource, trusting: str = os.devnull, proxy: str | None = None) -> dict[str, str]:
    """Everything that git may know: no configuration of the host's, no prompts, the credentials, the certificates.

    Credentials travel in the environment of the one process that needs them: not in its arguments, which all users
    can read, nor in `.git/config`, which the sandbox can. `trusting` is a configuration for local repositories, which
    belong to somebody else: without it git refuses to serve them to us.
    """
    settings = {
        "core.hooksPath": os.devnull,
        "protocol.allow": "never",
        **{f"protocol.{scheme}.allow": "always" for scheme in ("http", "https")},
        "gc.auto": "0",
    }
    is_local = urlsplit(source.url).scheme == "file"
    if is_local:
        settings["protocol.file.allow"] = "always"
    if source.password is not None:
        pair = f"{source.username or 'x-access-token'}:{source.password.get_secret_value()}"
        settings["http.extraHeader"] = f"Authorization: Basic {base64.b64encode(pair.encode()).decode()}"
    numbered = dict(enumerate(settings.items()))
    return {
        "PATH": "/usr/local/bin:/usr/bin:/bin",
        "HOME": "/nonexistent",
        "LC_ALL": "C",
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_CONFIG_GLOBAL": trusting if is_local else os.devnull,
        "GIT_TERMINAL_PROMPT": "0",
        "GIT_CONFIG_COUNT": str(len(numbered)),
        **{f"GIT_CONFIG_KEY_{number}": key for number, (key, _) in numbered.items()},
        **{f"GIT_CONFIG_VALUE_{number}": value for number, (_, value) in numbered.items()},
        **{name: value for name in ("GIT_SSL_CAINFO", "SSL_CERT_FILE") if (value := os.environ.get(name))},
        **({"http_proxy": proxy, "https_proxy": proxy, "no_proxy": ",".join(_NEAR)} if proxy else {}),
    }


def repository_name(url: str) -> str:
    return urlsplit(url).path.rstrip("/").rpartition("/")[2].removesuffix(".git")


async def provide(
    box: Box,
    source: GitSource | TarballSource,
    *,
    launcher: Launcher,
    folder: str,
    owner: int,
    env: dict[str, str],
    limit: float,
    proxy: str | None = None,
) -> None:
    """Fill the working directory, which the launcher sees as `folder`. Raises `ApiError` 400 with the reason."""
    if isinstance(source, TarballSource):
        await unpack_tarball(box, source, owner, env, proxy)
    else:
        await fetch_git(launcher, source, folder, limit, proxy)
        await check_out(box, source, owner, env)


async def fetch_git(launcher: Launcher, source: GitSource, folder: str, limit: float, proxy: str | None = None) -> None:
    """Make `folder` a repository that has the wanted commit as FETCH_HEAD."""
    git = shutil.which("git", path="/usr/local/bin:/usr/bin:/bin")
    if git is None:
        raise ApiError(400, "git_clone_failed", "git is not installed on the host: `apt install git`")
    environment = git_environment(source, f"{launcher.folders['data']}/tools/gitconfig", proxy)
    depth = ["--depth", str(source.depth)] if source.depth else []
    steps = (
        ["init", "--quiet", "--initial-branch=main", "--template="],
        ["remote", "add", "--", "origin", source.url],
        ["fetch", "--quiet", "--no-tags", "--no-recurse-submodules", *depth, "--", "origin", source.revision or "HEAD"],
    )
    try:
        async with asyncio.timeout(limit):
            for step in steps:
                await _git(launcher, [git, *step], environment, folder)
    except TimeoutError as error:
        raise ApiError(400, "git_clone_failed", f"the clone took longer than {limit:.0f} seconds") from error


async def check_out(box: Box, source: GitSource, owner: int, env: dict[str, str]) -> None:
    """Check FETCH_HEAD out inside the sandbox, where the repository's own settings can do no harm."""
    steps = [["git", "-c", "advice.detachedHead=false", "checkout", "--quiet", "--detach", "FETCH_HEAD"]]
    if source.revision and _FULL_SHA.fullmatch(source.revision):
        steps.append(["git", "rev-parse", "HEAD"])
    for step in steps:
        ended = await run_errand(box.guest, step, owner=owner, cwd=CWD, env={**env, "GIT_TERMINAL_PROMPT": "0"})
        _require(ended, "git_clone_failed")
        if step[1] == "rev-parse" and ended.output.strip() != source.revision:
            raise ApiError(400, "git_clone_failed", f"the server sent another commit than {source.revision}")


async def unpack_tarball(
    box: Box, source: TarballSource, owner: int, env: dict[str, str], proxy: str | None = None
) -> None:
    """Stream a tarball into the sandbox and unpack it there."""
    try:
        async with (
            httpx.AsyncClient(follow_redirects=True, timeout=60, mounts=_mounts(proxy)) as client,
            client.stream("GET", source.url) as got,
        ):
            got.raise_for_status()
            chunks = got.aiter_bytes(1 << 16)
            first = await anext(chunks, b"")
            unpack = ["tar", "--extract", _MAGIC.get(first[:2], "--no-auto-compress"), "--no-same-owner", "--file=-"]
            ended = await run_errand(box.guest, unpack, owner=owner, cwd=CWD, env=env, feed=_prepend(first, chunks))
    except httpx.HTTPError as error:
        raise bad_request(f"cannot download the tarball: {error}", "tarball_failed") from error
    _require(ended, "tarball_failed")


def _mounts(proxy: str | None) -> dict[str, httpx.AsyncHTTPTransport | None]:
    """By which transport httpx gets where; an empty answer leaves that to the environment."""
    if proxy is None:
        return {}
    places = (f"all://[{host}]" if ":" in host else f"all://{host}" for host in _NEAR)
    return {"all://": httpx.AsyncHTTPTransport(proxy=proxy), **dict.fromkeys(places)}


async def _prepend(first: bytes, rest: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    yield first
    async for chunk in rest:
        yield chunk


async def _git(launcher: Launcher, argv: list[str], environment: dict[str, str], folder: str) -> None:
    ended = await run_on_host(launcher, argv, env=environment, folder=folder)
    if ended.code:
        raise ApiError(400, "git_clone_failed", _reason(ended.output, argv))


def _reason(said: str, argv: list[str]) -> str:
    """git's own words; an URL with credentials in it loses them."""
    words = re.sub(r"(\w+://)[^/@\s]+@", r"\1", said).strip()
    return words or f"git {argv[1]} failed"


def _require(ended: Ended, code: str) -> None:
    if ended.code:
        raise ApiError(400, code, ended.output.strip() or f"exit code {ended.code}")
