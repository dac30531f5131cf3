"""The process: bind, say where, serve until told to stop."""

import argparse
import asyncio
import errno
import json
import os
import secrets
import signal
import socket
import struct
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import cast

import structlog
import uvicorn
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from bot.forge.app import create_app
from bot.forge.faults import RESET_EXTENSION
from bot.forge.forge import Forge

CONFIGURATION = 2
TRY_AGAIN = 75
GRACE = 2
"""Seconds that open requests have to end once the process is told to stop."""

log = structlog.get_logger()


class ResettableProtocol(HttpToolsProtocol):
    """uvicorn's protocol, which also lets a fault cut the connection: ASGI itself knows no way to."""

    def on_message_begin(self) -> None:
        """Offer the reset in the scope of every request."""
        super().on_message_begin()
        self.scope["extensions"] = {RESET_EXTENSION: self.reset}  # type: ignore[dict-item]

    def reset(self) -> None:
        """Drop the connection without an answer; a zero linger makes it a TCP reset."""
        connection = self.transport.get_extra_info("socket")
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.transport.abort()


def main(argv: Sequence[str]) -> int:
    """Serve until SIGTERM or SIGINT. Returns 0, 2 (configuration) or 75 (the port is taken)."""
    _log_to_stderr()
    options = _parse(argv)
    try:
        listener = _bind(options.host, options.port)
    except OSError as taken:
        log.critical("cannot listen", host=options.host, port=options.port, reason=str(taken))
        return TRY_AGAIN if taken.errno == errno.EADDRINUSE else CONFIGURATION
    with listener:
        host, port = listener.getsockname()[:2]
        url = f"http://{host}:{port}"
        try:
            forge = Forge(options.data, url=url, admin_token=secrets.token_hex(20))
        except (OSError, ValueError) as wrong:
            log.critical("cannot use the data folder", data=str(options.data), reason=str(wrong))
            return CONFIGURATION
        with asyncio.Runner(loop_factory=_config(forge).get_loop_factory()) as runner:
            runner.run(serve(forge, listener))
    return 0


async def serve(forge: Forge, listener: socket.socket) -> None:
    """Serve a forge on a bound socket, announce it on stdout, and leave everything saved at the end."""
    server = _Announced(_config(forge), forge)
    try:
        await server.serve(sockets=[listener])
    finally:
        await forge.outbox.close()
        forge.save()


class _Announced(uvicorn.Server):
    """A server that says where it is once it listens: one JSON line, for whoever started the process."""

    def __init__(self, config: uvicorn.Config, forge: Forge) -> None:
        super().__init__(config)
        self._forge = forge

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Stop on SIGTERM and SIGINT. uvicorn would raise them once more at the end: this process just ends, with 0."""
        loop, signals = asyncio.get_running_loop(), (signal.SIGTERM, signal.SIGINT)
        for number in signals:
            loop.add_signal_handler(number, self.handle_exit, number, None)
        try:
            yield
        finally:
            for number in signals:
                loop.remove_signal_handler(number)

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        urls, token = self._forge.urls, self._forge.admin_token
        line = {"event": "listening", "url": urls.root, "api": urls.api, "admin_token": token, "pid": os.getpid()}
        sys.stdout.write(json.dumps(line) + "\n")
        sys.stdout.flush()


def _config(forge: Forge) -> uvicorn.Config:
    return uvicorn.Config(
        cast("type", create_app(forge)),
        http=ResettableProtocol,
        loop="uvloop",
        ws="none",
        lifespan="off",
        log_config=None,
        access_log=False,
        timeout_graceful_shutdown=GRACE,
    )


def _log_to_stderr() -> None:
    tracebacks = structlog.dev.ConsoleRenderer(
        colors=sys.stderr.isatty(), exception_formatter=structlog.dev.plain_traceback
    )
    stamped: list[structlog.typing.Processor] = [
        structlog.processors.add_log_level,
        structlog.processors.TimeStamper("iso"),
        tracebacks,
    ]
    structlog.configure(processors=stamped, logger_factory=structlog.PrintLoggerFactory(sys.stderr))


def _bind(host: str, port: int) -> socket.socket:
    listener = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((host, port))
        listener.listen(256)
    except OSError:
        listener.close()
        raise
    return listener


def _parse(argv: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser("python -m bot.forge", description="A small GitHub on loopback.")
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=0, help="0 takes any free port")
    parser.add_argument("--data", type=Path, required=True, help="the folder that holds everything")
    return parser.parse_args(argv)
