"""From a started server to a URL that answers: asks, listens to the process, and finds out why when it takes long."""

import asyncio
import re
from dataclasses import dataclass

from bot.diagnosis import remedy
from bot.errors import NeverReady, ServerExited
from bot.plan import LaunchPlan, spoken
from bot.probe import NoAnswer, Probe, socket_opens
from bot.readiness import GOOD_ANSWERS, Problem, judge
from bot.sandbox import Box

FIRST_PAUSE_SECONDS = 0.03
LONGEST_PAUSE_SECONDS = 0.5
LOOK_ELSEWHERE_SECONDS = 3.0
"""How long the expected port may be silent before other listening ports are looked at."""


@dataclass(frozen=True, slots=True)
class Found:
    """The URL that answers, and what was noteworthy on the way."""

    url: str
    notes: tuple[str, ...] = ()


async def await_ready(box: Box, server: str, url: str, plan: LaunchPlan, *, limit: float) -> Found:
    """Wait for good answers from `url` while the process `server` lives, at most `limit` seconds.

    Raises ServerExited at once when it ends, NeverReady when time is up.
    """
    exited = asyncio.create_task(box.exit_code(server, wait=True))
    asking = asyncio.create_task(_ask_until_good(box, url, plan, limit=limit))
    try:
        await asyncio.wait({exited, asking}, return_when=asyncio.FIRST_COMPLETED)
        if not exited.done():
            return asking.result()
        code = exited.result()
        log = await box.output(server)
        line = f"`{' '.join(spoken(plan.start))}`"
        if code == 137:
            raise ServerExited(f"{line} was killed, most likely out of memory.", exit_code=137, log=log)
        raise ServerExited(f"{line} exited with code {code}.", exit_code=code or 0, remedy=_remedy(plan, log), log=log)
    except NeverReady as error:
        log = await box.output(server)
        raise NeverReady(error.cause, remedy=error.remedy, log=log) from None
    finally:
        for task in (exited, asking):
            task.cancel()
        await asyncio.gather(exited, asking, return_exceptions=True)


async def _ask_until_good(box: Box, url: str, plan: LaunchPlan, *, limit: float) -> Found:
    loop = asyncio.get_running_loop()
    began = loop.time()
    notes: list[str] = []
    problem: Problem | None = None
    good, pause, looked = 0, FIRST_PAUSE_SECONDS, False
    async with Probe(first_byte=limit) as probe:
        while True:
            try:
                async with asyncio.timeout(began + limit - loop.time()):
                    answer = await probe.ask(url, plan.readiness.path)
                problem = judge(answer, plan.readiness)
                good = 0 if problem else good + 1
            except (NoAnswer, TimeoutError):
                good = 0
            if good >= GOOD_ANSWERS:
                return Found(url, (*notes, *await _socket_note(url, plan)))
            waited = loop.time() - began
            if waited >= limit:
                raise await _never_ready(box, plan, problem, limit)
            if problem is None and not good and not looked and waited > LOOK_ELSEWHERE_SECONDS:
                others = await listening_ports(box)
                if plan.port not in others and len(others) == 1:
                    looked = True
                    url = await box.route(others[0])
                    notes.append(f"The app listens on port {others[0]}, not on {plan.port}; that one is shown.")
            if not good:
                await asyncio.sleep(pause)
                pause = min(LONGEST_PAUSE_SECONDS, pause * 1.5)


async def listening_ports(box: Box) -> list[int]:
    """The TCP ports that a process in the sandbox listens on, lowest first.

    The platform may listen there too (an egress proxy, a name service): such a socket belongs to no process that can
    be seen inside. State 0A is LISTEN, the tenth field the inode: https://docs.kernel.org/networking/proc_net_tcp.html
    """
    look = "cat /proc/net/tcp /proc/net/tcp6 2>/dev/null; ls -l /proc/[0-9]*/fd 2>/dev/null; true"
    text = (await box.read(("sh", "-c", look))).decode("utf-8", "replace")
    held = set(re.findall(r"-> socket:\[(\d+)\]$", text, re.MULTILINE))
    listening = re.findall(r"^ *\d+: [0-9A-F]+:([0-9A-F]{4}) \S+ 0A(?: +\S+){5} +(\d+)", text, re.MULTILINE)
    return sorted({int(port, 16) for port, inode in listening if inode in held})


async def _never_ready(box: Box, plan: LaunchPlan, problem: Problem | None, limit: float) -> NeverReady:
    if problem:
        return NeverReady(problem.cause, remedy=problem.remedy)
    ports = await listening_ports(box)
    if plan.port in ports:
        return NeverReady(f"The app accepts connections on port {plan.port} but gave no answer within {limit:.0f} s.")
    if ports:
        listed = ", ".join(map(str, ports))
        return NeverReady(
            f"Nothing listens on port {plan.port} after {limit:.0f} s; the app listens on {listed}.",
            remedy="Name the right one as `port` in `.github/preview.toml`.",
        )
    return NeverReady(f"The app runs, but listens on no port after {limit:.0f} s.")


async def _socket_note(url: str, plan: LaunchPlan) -> tuple[str, ...]:
    path = plan.readiness.websocket_path
    if path is None or await socket_opens(url, path, plan.readiness.websocket_protocol):
        return ()
    return ("Live reload's WebSocket does not open; reload the page by hand after a push.",)


def _remedy(plan: LaunchPlan, log: str) -> str:
    missing = [name for name in plan.needs_env if name in log] or list(plan.needs_env)
    if missing:
        return "It asks for these variables: " + ", ".join(f"`{name}`" for name in missing) + "."
    return remedy(log)
