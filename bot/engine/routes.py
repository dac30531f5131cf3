"""The routes of one sandbox: which of its ports has which port of the host, over all its sessions."""

from collections.abc import Iterable, Mapping

from bot.engine.guest import Guest
from bot.engine.relay import Relay


class Routes:
    """They listen from `open` to `close`, and lead somewhere from `connect` to `disconnect`."""

    def __init__(self, host: str) -> None:
        self._host = host
        self._guest: Guest | None = None
        self._relays: dict[int, Relay] = {}

    @property
    def host_ports(self) -> dict[int, int]:
        """The host's port for each port inside."""
        return {port: relay.host_port for port, relay in self._relays.items()}

    def open(self, ports: Iterable[int], preferred: Mapping[int, int]) -> list[Relay]:
        """Keep exactly these, each with the host port that it had; those that are no more are to be closed."""
        for port in ports:
            if port not in self._relays:
                self._relays[port] = Relay.open(self._host, port, preferred=preferred.get(port))
                self._relays[port].guest = self._guest
        return [self._relays.pop(port) for port in set(self._relays) - set(ports)]

    def connect(self, guest: Guest) -> None:
        self._guest = guest
        for relay in self._relays.values():
            relay.guest = guest

    async def disconnect(self) -> None:
        """Cut all connections and wait for a next session."""
        self._guest = None
        for relay in list(self._relays.values()):  # others may open or close some meanwhile
            await relay.disconnect()

    async def close(self) -> None:
        """Give the host's ports back."""
        for relay in list(self._relays.values()):  # others may open or close some meanwhile
            await relay.close()
        self._relays.clear()
