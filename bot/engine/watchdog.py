"""Ends sandboxes that use more than they may: of the disk and, where no control group sees to it, of the memory.

When hardly any disk is left for anybody, the largest is ended. A watch on the disk and not a quota, since quotas of
folders need root and a file system made for them. Between two looks a sandbox can overshoot; the floor under which
none is created is what keeps that from reaching the engine itself.
"""

import asyncio
from collections.abc import Callable, Iterable

import structlog

from bot.engine.errors import LaunchError
from bot.engine.limits import MEGABYTE, free_disk
from bot.engine.memory import children_of_all, memory_below
from bot.engine.sandbox import Sandbox
from bot.engine.settings import Settings

log = structlog.get_logger()
_SHARE = 20  # measuring takes at most one part in this many of the time


class Watchdog:
    def __init__(self, settings: Settings, sandboxes: Callable[[], Iterable[Sandbox]]) -> None:
        self._settings, self._sandboxes = settings, sandboxes
        self._task = asyncio.create_task(self._watch())

    async def close(self) -> None:
        self._task.cancel()
        await asyncio.wait([self._task])

    async def _watch(self) -> None:
        clock = asyncio.get_running_loop().time
        while True:
            started = clock()
            try:
                await self.look()
            except (LaunchError, OSError) as error:
                log.warning("disks are not watched", reason=str(error))
            await asyncio.sleep(max(self._settings.watch_interval, _SHARE * (clock() - started)))

    async def look(self) -> None:
        """Measure the disks of all that run, and end whom that condemns."""
        running = [sandbox for sandbox in self._sandboxes() if sandbox.box]
        uses = [(await sandbox.workshop.snapshots.layers.measure(sandbox.folder.disk), sandbox) for sandbox in running]
        limit = self._settings.disk_limit
        for use, sandbox in uses:
            if use > limit:
                await sandbox.end(f"its disk holds {use // MEGABYTE} MiB, and may hold {limit // MEGABYTE}")
        for sandbox in running:
            for drive in await sandbox.workshop.drives.overfull(sandbox.record.session.id):
                await sandbox.end(f"drive {drive.name} holds more than its {drive.max_size // MEGABYTE} MiB")
        await self._limit_memory(running)
        if uses and free_disk(self._settings.data) < self._settings.disk_floor // 2:
            use, largest = max(uses, key=lambda pair: pair[0])
            await largest.end(f"the host's disk is nearly full, and its {use // MEGABYTE} MiB are the most")

    async def _limit_memory(self, running: Iterable[Sandbox]) -> None:
        """A control group would do this better: at once, and ending only the process that asks for more."""
        watched = [sandbox for sandbox in running if sandbox.box and sandbox.workshop.groups is None]
        children = await asyncio.to_thread(children_of_all) if watched else {}
        for sandbox in watched:
            if sandbox.box is None:
                continue
            use = await asyncio.to_thread(memory_below, sandbox.box.pid, children) // MEGABYTE
            if use > sandbox.record.memory:
                await sandbox.end(f"its processes use {use} MB of memory, and may use {sandbox.record.memory}")
