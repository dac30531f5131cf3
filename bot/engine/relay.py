"""Routes: a loopback port of the host for a port of a sandbox, as plain TCP."""

import socket

import structlog

from bot.engine.acceptor import Acceptor
from bot.engine.errors import AgentGone
from bot.engine.guest import Guest
from bot.engine.pump import close_with_reset, pump

log = structlog.get_logger()
_BACKLOG = 512


class Relay:
    """Listens for the whole life of a sandbox, so that its URL never belongs to anybody else.

    While no session runs, or nothing listens inside, a connection is reset at once: a client sees an error, not a hang.
    """

    def __init__(self, listener: socket.socket, port: int) -> None:
        self.port = port
        self.guest: Guest | None = None
        self._acceptor = Acceptor(listener, self._serve)

    @classmethod
    def open(cls, host: str, port: int, *, preferred: int | None = None) -> "Relay":
        """Open a route to `port`, at the host's port `preferred` if it is still free."""
        try:
            return cls(_listen(host, preferred or 0), port)
        except OSError:
            if not preferred:
                raise
            return cls(_listen(host, 0), port)

    @property
    def host_port(self) -> int:
        bound: int = self._acceptor.listener.getsockname()[1]
        return bound

    async def disconnect(self) -> None:
        """Cut all connections and wait for a next session."""
        self.guest = None
        await self._acceptor.cut()

    async def close(self) -> None:
        await self._acceptor.close()

    async def _serve(self, client: socket.socket) -> None:
        whole = False
        try:
            if self.guest is None:
                return
            server = await self.guest.connect(self.port)
            with server:
                await pump(client, server)
            whole = True
        except (OSError, TimeoutError, AgentGone) as error:
            log.debug("route connection ended", port=self.port, reason=str(error))
        finally:
            client.close() if whole else close_with_reset(client)


def _listen(host: str, port: int) -> socket.socket:
    return socket.create_server((host, port), backlog=_BACKLOG)
