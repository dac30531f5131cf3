"""Processes that share a database look after each other: a dead one's launches go on in a living one."""

import asyncio
import os
import signal

import structlog

from bot import workflow
from bot.errors import WorldFault
from bot.executors import Executors

log = structlog.get_logger()

LOOK_SECONDS = 1.0
"""How often to look for dead processes."""


async def watch(executors: Executors) -> None:
    """Take over from the dead, until cancelled.

    Without our session the others take us for dead and do our work: then this process ends, and is started again.
    """
    try:
        while True:
            for name in await workflow.busy_executors() - {executors.name}:
                if await executors.is_dead(name):
                    log.warning("executor.dead", name=name)
                    await workflow.recover(name)
                    await executors.release(name)
            await asyncio.sleep(LOOK_SECONDS)
    except WorldFault as error:
        log.critical("executor.session_lost", reason=str(error))
        os.kill(os.getpid(), signal.SIGTERM)
