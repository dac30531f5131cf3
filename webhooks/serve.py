"""`preview serve`: the bot on a port, with an engine beside it when no other Sandbox API is named."""

import json
import logging
import os
import re
import signal
import socket
import sys
from collections.abc import Iterator, MutableMapping
from contextlib import contextmanager
from typing import Any

import structlog
import uvicorn
import uvloop

from bot import annexes
from bot.context import create_context
from bot.errors import OperatorFault, WorldFault
from bot.settings import EMBEDDED, VERCEL, Settings
from webhooks.app import create_app

log = structlog.get_logger()

_UNPRINTABLE = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ud800-\udfff]")
_VERCEL_NAMES = ("vercel_oidc_token", "vercel_token", "vercel_team_id", "vercel_project_id")


def configure_logging(level: str) -> None:
    """One line per event on standard error: `key=value` for people and for `grep`."""
    number = logging.getLevelNamesMapping().get(level.upper())
    if number is None:
        raise OperatorFault(f"PREVIEW_LOG_LEVEL: {level!r} is none of debug, info, warning, error")
    structlog.configure(
        processors=[
            structlog.contextvars.merge_contextvars,
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            structlog.processors.format_exc_info,
            _spell_out,
            structlog.processors.LogfmtRenderer(key_order=["timestamp", "level", "event"]),
        ],
        wrapper_class=structlog.make_filtering_bound_logger(number),
        logger_factory=structlog.PrintLoggerFactory(sys.stderr),
    )
    logging.basicConfig(level=max(number, logging.WARNING), stream=sys.stderr)


def _spell_out(_logger: object, _method: str, event: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
    """Control characters as their codes: what is quoted from elsewhere must not steer the operator's terminal."""
    return {name: _UNPRINTABLE.sub(_code, value) if isinstance(value, str) else value for name, value in event.items()}


def _code(found: re.Match[str]) -> str:
    return found[0].encode("unicode_escape").decode()


async def sandbox_service(settings: Settings, *, start: bool = True) -> tuple[str | None, str]:
    """The Sandbox API in force: its base URL (None: Vercel's own) and its token ("": the SDK finds credentials).

    `start`: whether to start the embedded engine when none runs.
    """
    service = settings.sandbox_service
    if service == VERCEL:
        for name in _VERCEL_NAMES:  # the SDK reads the environment, and knows nothing of .env.local
            value = getattr(settings, name)
            text = value if isinstance(value, str) else value.get_secret_value()
            if text:
                os.environ.setdefault(name.upper(), text)
        return None, ""
    if service == EMBEDDED:
        return await annexes.embedded_engine(settings.data_dir, start=start)
    token = settings.engine_token.get_secret_value()
    if not token:
        raise OperatorFault(f"PREVIEW_ENGINE_TOKEN: the Sandbox API at {service} needs a bearer token")
    return service, token


async def serve(settings: Settings) -> None:
    """Run until SIGTERM or SIGINT. One JSON line on standard output says where it listens."""
    settings.require_github()
    url, token = await sandbox_service(settings)
    context = create_context(settings, sandbox_url=url, sandbox_token=token)
    context.store.migrate()
    listener = _listen(settings.host, settings.port)
    host, port = listener.getsockname()[:2]
    config = uvicorn.Config(
        create_app(context), loop="uvloop", http="httptools", log_config=None, access_log=False, lifespan="on",
        timeout_graceful_shutdown=10,
    )  # fmt: skip
    server = uvicorn.Server(config)
    announced = {"event": "listening", "url": f"http://{host}:{port}", "sandboxes": url or "vercel", "pid": os.getpid()}
    sys.stdout.write(json.dumps(announced) + "\n")
    sys.stdout.flush()
    with _asked_to_end():
        await server.serve(sockets=[listener])
    if not server.started:
        raise WorldFault("the bot could not start; the log above says why")
    if settings.sandbox_service == EMBEDDED:
        log.info("engine.left_running", how_to_stop="preview engine --stop")


@contextmanager
def _asked_to_end() -> Iterator[None]:
    """Being asked to end is no failure: uvicorn raises the signal once more after it has stopped, and it ends here."""
    before = {number: signal.signal(number, lambda *_: None) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, action in before.items():
            signal.signal(number, action)


def run(settings: Settings) -> None:
    """Serve in an event loop of its own: uvloop's, which handles a delivery in half the time."""
    uvloop.run(serve(settings))


def _listen(host: str, port: int) -> socket.socket:
    """Bind before anything else is announced. Raises OperatorFault when the port cannot be had."""
    try:
        family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][0]
        listener = socket.socket(family, socket.SOCK_STREAM)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((host, port))
    except OSError as error:
        raise OperatorFault(
            f"PREVIEW_HOST and PREVIEW_PORT: cannot listen on {host}:{port}: {error.strerror}. "
            "Choose another port, or end what listens there."
        ) from None
    listener.listen(2048)
    return listener
