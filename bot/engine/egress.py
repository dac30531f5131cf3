"""The way out of one sandbox: every connection and DNS question that leaves it ends here and is decided here."""

import asyncio
import socket
import struct
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import structlog

from bot.engine import addresses, dns
from bot.engine.acceptor import Acceptor
from bot.engine.policy import Address, NetworkPolicy
from bot.engine.pump import close_with_reset, pump

log = structlog.get_logger()
_SO_ORIGINAL_DST = 80  # linux/netfilter_ipv4.h
_CONNECT_LIMIT = 10.0
_MOST_QUESTIONS = 256
_MOST_LOOKUPS = 8
# Of our own: the event loop's is shared with file work, and a sandbox can ask for many slow names.
_RESOLVERS = ThreadPoolExecutor(max_workers=32, thread_name_prefix="resolve")


LookUp = Callable[[str], Iterable[Address]]


def look_up(name: str) -> Iterable[Address]:
    """Raises `OSError` for a name without addresses."""
    return [addresses.parse(str(info[4][0])) for info in socket.getaddrinfo(name, None, type=socket.SOCK_STREAM)]


@dataclass(frozen=True, slots=True)
class _Target:
    name: str | None
    address: Address


class Egress:
    """Owns the listeners, which live in the sandbox's network namespace while we connect from the host's."""

    def __init__(
        self,
        names: socket.socket,
        listeners: list[socket.socket],
        policy: NetworkPolicy,
        *,
        redirected: bool,
        look_up: LookUp = look_up,
    ) -> None:
        self._names, self._policy, self._redirected, self._look_up = names, policy, redirected, look_up
        self._book = dns.SyntheticNames()
        self._targets: dict[asyncio.Task[Any], _Target] = {}
        self._lookups = asyncio.Semaphore(_MOST_LOOKUPS)
        self._questions: set[asyncio.Task[None]] = set()
        names.settimeout(0)
        asyncio.get_running_loop().add_reader(names.fileno(), self._hear)
        self._acceptors = [Acceptor(listener, self._serve) for listener in listeners]

    @property
    def policy(self) -> NetworkPolicy:
        return self._policy

    def change_policy(self, policy: NetworkPolicy) -> None:
        """Put a policy in force; connections that it no longer allows are cut."""
        self._policy = policy
        for task, target in self._targets.items():
            if not policy.permits(target.name, target.address):
                task.cancel()

    async def close(self) -> None:
        asyncio.get_running_loop().remove_reader(self._names.fileno())
        for question in self._questions:
            question.cancel()
        await asyncio.gather(*self._questions, return_exceptions=True)
        for acceptor in self._acceptors:
            await acceptor.close()
        self._names.close()

    def _hear(self) -> None:
        try:
            packet, sender = self._names.recvfrom(1500)
        except OSError:
            return
        question = dns.parse(packet)
        if question is None or len(self._questions) >= _MOST_QUESTIONS:
            return  # unheard questions are asked again
        task = asyncio.create_task(self._reply(question, sender))
        self._questions.add(task)
        task.add_done_callback(self._questions.discard)

    async def _reply(self, question: dns.Question, sender: tuple[str, int]) -> None:
        answer = await self._decide(question)
        try:
            self._names.sendto(answer, sender)
        except OSError as error:
            log.debug("dns answer not delivered", reason=str(error))

    async def _decide(self, question: dns.Question) -> bytes:
        if not self._policy.may_resolve(question.name):
            return dns.refusal(question)
        if question.kind != dns.A:
            return dns.empty_answer(question)
        if not any(self._may_connect(question.name, address) for address in await self._resolve(question.name)):
            return dns.name_error(question)
        return dns.address_answer(question, self._book.address_of(question.name))

    async def _serve(self, inside: socket.socket) -> None:
        """Connect to where the sandbox wanted to go, if it may, and carry. Whatever goes wrong is a reset inside."""
        whole = False
        try:
            outside = await self._connect(*self._destination(inside))
            try:
                await pump(inside, outside)
                whole = True
            finally:
                outside.close() if whole else close_with_reset(outside)
        except (OSError, TimeoutError) as error:
            log.debug("egress ended", reason=str(error))
        finally:
            self._targets.pop(_current_task(), None)
            inside.close() if whole else close_with_reset(inside)

    def _destination(self, inside: socket.socket) -> tuple[str, int]:
        if not self._redirected:
            host, port = inside.getsockname()
            return host, port
        port, address = struct.unpack("!2xH4s8x", inside.getsockopt(socket.SOL_IP, _SO_ORIGINAL_DST, 16))
        return socket.inet_ntoa(address), port

    async def _connect(self, host: str, port: int) -> socket.socket:
        """Raises `OSError` when nothing that the policy allows answers."""
        name = self._book.name_of(host)
        candidates = [addresses.parse(host)] if name is None else await self._resolve(name)
        for address in candidates:
            if not self._may_connect(name, address):
                continue
            self._targets[_current_task()] = _Target(name, address)
            try:
                return await asyncio.wait_for(_connect(address, port), _CONNECT_LIMIT)
            except (OSError, TimeoutError) as error:
                log.debug("egress candidate failed", address=str(address), reason=str(error))
        raise ConnectionRefusedError(f"nothing allowed answers at {name or host}:{port}")

    def _may_connect(self, name: str | None, address: Address) -> bool:
        return self._policy.permits(name, address) and not addresses.is_refused(address)

    async def _resolve(self, name: str) -> list[Address]:
        """Addresses of a name as the host sees them, IPv4 first; none if it has none."""
        async with self._lookups:
            try:
                found = await asyncio.get_running_loop().run_in_executor(_RESOLVERS, self._look_up, name)
            except (OSError, UnicodeError):
                return []
        return sorted(set(found), key=lambda address: (address.version, int(address)))


def _current_task() -> asyncio.Task[Any]:
    task = asyncio.current_task()
    if task is None:
        raise RuntimeError("a connection is served outside a task")
    return task


async def _connect(address: Address, port: int) -> socket.socket:
    connection = socket.socket(socket.AF_INET if address.version == 4 else socket.AF_INET6)
    connection.settimeout(0)
    try:
        await asyncio.get_running_loop().sock_connect(connection, (str(address), port))
    except BaseException:
        connection.close()
        raise
    return connection
