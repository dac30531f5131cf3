"""The way out of one sandbox: every connection and DNS question that leaves it ends here and is decided here.

A connection is judged by the name that it was made for, which its made-up address tells, and by where that name leads
when it is made: an answer that was good for a moment opens nothing. A policy that is put in force cuts what it no
longer allows, what it has other rules for, and what began with asking for another name while nobody minded.
"""

import asyncio
import socket
import struct
from functools import partial
from typing import Any

import structlog

from bot.engine import dns
from bot.engine.acceptor import Acceptor
from bot.engine.destinations import Destination, Destinations, Gateway
from bot.engine.greeting import glance
from bot.engine.interception import Connect, Interception
from bot.engine.policy import NetworkPolicy
from bot.engine.pump import close_with_reset, pump

log = structlog.get_logger()
_SO_ORIGINAL_DST = 80  # linux/netfilter_ipv4.h
_MOST_QUESTIONS = 256


class Egress:
    """Owns the listeners, which live in the sandbox's network namespace while we connect from the host's."""

    def __init__(
        self,
        names: socket.socket,
        listeners: list[socket.socket],
        policy: NetworkPolicy,
        *,
        redirected: bool,
        gateway: Gateway,
    ) -> None:
        self._names, self._policy, self._redirected, self._gateway = names, policy, redirected, gateway
        self._book = dns.SyntheticNames()
        self._destinations = Destinations(gateway)
        self._live: dict[asyncio.Task[Any], Destination] = {}
        self._doubtful: set[asyncio.Task[Any]] = set()  # of the live: those that may ask for another name
        self._questions: set[asyncio.Task[None]] = set()
        names.settimeout(0)
        asyncio.get_running_loop().add_reader(names.fileno(), self._hear)
        self._acceptors = [Acceptor(listener, self._serve) for listener in listeners]

    @property
    def policy(self) -> NetworkPolicy:
        return self._policy

    def change_policy(self, policy: NetworkPolicy) -> None:
        """Put a policy in force; connections that it no longer allows, or has other rules for, are cut."""
        earlier, self._policy = self._policy, policy
        for task, to in self._live.items():
            doubtful = task in self._doubtful and to.name is not None and policy.checks(to.name)
            other_rules = to.name is not None and policy.rules_for(to.name) != earlier.rules_for(to.name)
            if doubtful or other_rules or not policy.permits(to.name, to.address):
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
        if not await self._destinations.of(question.name, "", self._policy):
            return dns.name_error(question)
        return dns.address_answer(question, self._book.address_of(question.name))

    async def _serve(self, inside: socket.socket) -> None:
        """Connect to where the sandbox wanted to go, if it may, and carry. Whatever goes wrong is a reset inside."""
        whole = False
        try:
            host, port = self._destination(inside)
            await self._carry(inside, host, port)
            whole = True
        except (OSError, TimeoutError) as error:
            log.debug("egress ended", reason=str(error))
        finally:
            self._live.pop(_current_task(), None)
            self._doubtful.discard(_current_task())
            if inside.fileno() >= 0:
                inside.close() if whole else close_with_reset(inside)

    def _destination(self, inside: socket.socket) -> tuple[str, int]:
        if not self._redirected:
            host, port = inside.getsockname()
            return host, port
        port, address = struct.unpack("!2xH4s8x", inside.getsockopt(socket.SOL_IP, _SO_ORIGINAL_DST, 16))
        return socket.inet_ntoa(address), port

    async def _carry(self, inside: socket.socket, host: str, port: int) -> None:
        name = self._book.name_of(host)
        connect = partial(self._connect, name, host, port)
        if name is not None and self._policy.checks(name):
            self._live[_current_task()] = Destination(name, None)
            await self._intercept(inside, name, port, connect)
            return
        outside, whole = await connect(), False
        try:
            if name is not None and await self._is_checked_by_now(inside, outside, name):
                await self._intercept(inside, name, port, connect, outside)
            else:
                await pump(inside, outside)
            whole = True
        finally:
            if outside.fileno() >= 0:
                outside.close() if whole else close_with_reset(outside)

    async def _is_checked_by_now(self, inside: socket.socket, outside: socket.socket, name: str) -> bool:
        """Wait for the first words; note whether they would pass, or find that they have to."""
        greeting = await glance(inside, outside)
        if self._policy.checks(name):
            return True
        if greeting is None or not greeting.agrees_with(name):
            self._doubtful.add(_current_task())
        return False

    async def _intercept(
        self, inside: socket.socket, name: str, port: int, connect: Connect, first: socket.socket | None = None
    ) -> None:
        rules = self._policy.rules_for(name)
        await Interception(self._gateway.authority, name, port, rules=rules, connect=connect, first=first).carry(inside)

    async def _connect(self, name: str | None, host: str, port: int) -> socket.socket:
        """Raises `OSError` when nothing that the policy allows answers."""
        for destination in await self._destinations.of(name, host, self._policy):
            self._live[_current_task()] = destination
            try:
                return await self._destinations.connect(destination, port)
            except (OSError, TimeoutError) as error:
                log.debug("egress candidate failed", to=str(destination), reason=str(error))
        raise ConnectionRefusedError(f"nothing allowed answers at {name or host}:{port}")


def _current_task() -> asyncio.Task[Any]:
    task = asyncio.current_task()
    if task is None:
        raise RuntimeError("a connection is served outside a task")
    return task
