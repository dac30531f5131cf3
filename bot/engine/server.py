"""The engine as a process: arguments in, one line out when it listens, and everything stopped at its end."""

import argparse
import asyncio
import contextlib
import io
import json
import logging
import os
import secrets
import signal
import socket
import sys
from collections.abc import AsyncIterator, Iterator, Sequence
from pathlib import Path

import structlog
import uvicorn
import uvloop

from bot.engine import rootfs, trust
from bot.engine.api import PREFIX, create_app
from bot.engine.authority import Authority
from bot.engine.cgroups import ControlGroups
from bot.engine.destinations import Gateway
from bot.engine.drives import Drives
from bot.engine.errors import DataFolderInUse, IsolationError
from bot.engine.isolation import inspect_sandbox, start_launcher
from bot.engine.launcher import Launcher
from bot.engine.layers import Layers
from bot.engine.limits import MEGABYTE, raise_descriptor_limit
from bot.engine.outside import EgressProxy
from bot.engine.sandboxes import Sandboxes
from bot.engine.settings import DEFAULT_USER, Settings
from bot.engine.snapshots import Snapshots
from bot.engine.storage import Trash, lock
from bot.engine.watchdog import Watchdog
from bot.engine.workshop import Workshop

log = structlog.get_logger()
OK, MISCONFIGURED, TRY_AGAIN = 0, 2, 75  # the last is sysexits.h's EX_TEMPFAIL
_TOKEN_VARIABLE = "PREVIEW_ENGINE_TOKEN"  # noqa: S105 - a name
_PROXY_VARIABLE = "PREVIEW_ENGINE_EGRESS_PROXY"
_CLOSING_LIMIT = 5  # seconds for answers under way when the engine stops


def main(argv: Sequence[str] | None = None) -> int:
    """Serve until SIGTERM or SIGINT; the exit code is one of the three above."""
    options = _parse(sys.argv[1:] if argv is None else argv)
    _log_to_stderr()
    try:
        return uvloop.run(_run(options))
    except IsolationError as error:
        log.critical("this machine cannot isolate sandboxes", reason=error.reason, remedy=error.remedy)
        return MISCONFIGURED
    except PermissionError as error:
        log.critical("this is not allowed", reason=str(error))
        return MISCONFIGURED
    except DataFolderInUse as error:
        log.critical("cannot start", reason=str(error))
        return TRY_AGAIN
    except OSError as error:
        log.critical("cannot listen or write", reason=str(error))
        return TRY_AGAIN


def _parse(argv: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser("bot.engine", description=__doc__)
    parser.add_argument("--data", type=Path, required=True, help="folder of all sandboxes; one engine only")
    parser.add_argument("--port", type=int, default=0, help="0 for any that is free")
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--token", default=os.environ.get(_TOKEN_VARIABLE), help=f"or in {_TOKEN_VARIABLE}")
    parser.add_argument("--uid", type=int, default=DEFAULT_USER, help="host uid of all sandboxes, when run as root")
    parser.add_argument("--ro-bind", type=Path, action="append", default=[], help="also visible in sandboxes")
    parser.add_argument(
        "--egress-proxy",
        default=os.environ.get(_PROXY_VARIABLE),
        help=f"http://[user:password@]host[:port] that sandboxes' traffic leaves by; or in {_PROXY_VARIABLE}",
    )
    parser.add_argument("--disk-limit", type=int, default=16 << 10, help="MiB that one sandbox may write")
    options = parser.parse_args(argv)
    if not options.token:
        parser.error(f"a token is needed: --token or {_TOKEN_VARIABLE}; for example {secrets.token_urlsafe(24)}")
    if options.egress_proxy:
        try:
            EgressProxy.parse(options.egress_proxy)
        except ValueError as error:
            parser.error(str(error))
    if options.uid == 0:
        parser.error("sandboxes never run as root")
    return options


async def _run(options: argparse.Namespace) -> int:
    stop = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    raise_descriptor_limit()
    settings = Settings(
        options.data.resolve(),
        user=options.uid,
        ro_binds=tuple(options.ro_bind),
        disk_limit=options.disk_limit * MEGABYTE,
        egress_proxy=options.egress_proxy,
    )
    with socket.create_server((options.host, options.port), backlog=2048) as listener:
        async with open_engine(settings, options.host) as (sandboxes, launcher):
            return await _serve(sandboxes, launcher, listener, options.token, stop)


@contextlib.asynccontextmanager
async def open_engine(settings: Settings, host: str) -> AsyncIterator[tuple[Sandboxes, Launcher]]:
    """Everything that an engine owns, taken apart again in the end whatever happened."""
    async with contextlib.AsyncExitStack() as stack:
        stack.callback(os.close, lock(settings))
        surroundings = rootfs.prepare(settings)
        launcher = await start_launcher(settings, surroundings)
        stack.push_async_callback(launcher.close)
        isolation = await inspect_sandbox(settings, launcher, surroundings)
        log.info("sandboxes are isolated", bubblewrap=isolation.bubblewrap, host_uid=isolation.host_uid)
        trash = Trash(settings, launcher)
        trash.empty()
        stack.push_async_callback(trash.close)
        groups = ControlGroups.find()
        if groups:
            stack.callback(groups.close)
        snapshots = Snapshots(settings.snapshots, await Layers.open(settings, launcher, trash))
        stack.push_async_callback(snapshots.close)
        drives = Drives(settings.drives, launcher.folders["data"], settings.user, snapshots, trash)
        gateway = _open_gateway(settings, surroundings)
        workshop = Workshop(settings, launcher, surroundings, trash, snapshots, drives, host, groups, gateway)
        sandboxes = Sandboxes(workshop)
        stack.push_async_callback(sandboxes.close)
        sandboxes.remember()
        stack.push_async_callback(Watchdog(settings, sandboxes.all).close)
        yield sandboxes, launcher


def _open_gateway(settings: Settings, surroundings: rootfs.Rootfs) -> Gateway:
    authority = Authority.open(settings.authority)
    trust.publish(authority, settings.trust, surroundings.environment)
    return Gateway(authority, EgressProxy.parse(settings.egress_proxy) if settings.egress_proxy else None)


async def _serve(
    sandboxes: Sandboxes, launcher: Launcher, listener: socket.socket, token: str, stop: asyncio.Event
) -> int:
    config = uvicorn.Config(
        create_app(sandboxes, token),
        loop="none",
        http="httptools",
        ws="websockets-sansio",
        lifespan="off",
        log_config=None,
        access_log=False,
        timeout_graceful_shutdown=_CLOSING_LIMIT,
    )
    server = _Server(config)
    serving = asyncio.create_task(server.serve(sockets=[listener]))
    waits = [asyncio.create_task(stop.wait()), asyncio.create_task(launcher.gone.wait())]
    _announce(listener)
    await asyncio.wait([serving, *waits], return_when=asyncio.FIRST_COMPLETED)
    lost = launcher.gone.is_set()
    if lost:
        log.error("the process that starts sandboxes is gone")
    await sandboxes.close()  # first, so that output streams end by themselves
    server.should_exit = True
    await serving
    for wait in waits:
        wait.cancel()
    return TRY_AGAIN if lost else OK


class _Server(uvicorn.Server):
    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Leave signals to the engine: it stops its sandboxes first, and then exits with a code of its own."""
        yield


def _announce(listener: socket.socket) -> None:
    host, port = listener.getsockname()[:2]
    place = f"[{host}]" if ":" in host else host
    line = {"event": "listening", "url": f"http://{place}:{port}{PREFIX}", "pid": os.getpid()}
    sys.stdout.write(json.dumps(line) + "\n")
    sys.stdout.flush()


class _Stderr(io.TextIOBase):
    """Standard error without a buffer, for which it does not matter whether anybody reads it: we outlive our parent."""

    def write(self, text: str) -> int:
        with contextlib.suppress(OSError):
            os.write(2, text.encode(errors="replace"))
        return len(text)


def _log_to_stderr() -> None:
    logging.basicConfig(level=logging.INFO, stream=_Stderr(), format="%(message)s")
    for chatty in ("httpx", "uvicorn.error"):
        logging.getLogger(chatty).setLevel(logging.WARNING)
    structlog.configure(
        processors=[
            structlog.stdlib.filter_by_level,
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper("iso"),
            structlog.processors.format_exc_info,
            structlog.processors.KeyValueRenderer(key_order=["timestamp", "level", "event"]),
        ],
        wrapper_class=structlog.stdlib.BoundLogger,
        logger_factory=structlog.stdlib.LoggerFactory(),
        cache_logger_on_first_use=True,
    )
