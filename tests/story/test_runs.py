"""Runs of one process: what a newer decision cuts short, and what it waits for."""

import asyncio

import pytest

from bot.errors import Superseded
from bot.runs import Runs


class Work:
    """Work that goes on until it is told to end, and notes how it did."""

    def __init__(self) -> None:
        self.may_end, self.end = asyncio.Event(), ""

    async def __call__(self) -> str:
        try:
            await self.may_end.wait()
        except asyncio.CancelledError:
            self.end = "cut short"
            raise
        self.end = "done"
        return "result"


async def begin(runs: Runs, work: Work, *, preview: int = 1, generation: int = 1, firm: bool = False) -> asyncio.Task:
    task = asyncio.create_task(runs.guard(preview, generation, work(), firm=firm))
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    return task


async def test_work_that_nobody_overtakes_gives_its_result():
    runs, work = Runs(), Work()
    task = await begin(runs, work)
    work.may_end.set()
    assert await task == "result"


async def test_an_error_of_the_work_is_its_own():
    async def fail() -> None:
        raise ValueError("mine")

    with pytest.raises(ValueError, match="mine"):
        await Runs().guard(1, 1, fail())


async def test_an_older_generation_is_cut_short():
    runs, work = Runs(), Work()
    task = await begin(runs, work)
    runs.overtake(1, 2)
    with pytest.raises(Superseded):
        await task
    assert work.end == "cut short"


async def test_others_go_on():
    runs, same, newer, elsewhere = Runs(), Work(), Work(), Work()
    tasks = [
        await begin(runs, same, generation=2),
        await begin(runs, newer, generation=3),
        await begin(runs, elsewhere, preview=2),
    ]
    runs.overtake(1, 2)
    for work in (same, newer, elsewhere):
        work.may_end.set()
    assert await asyncio.gather(*tasks) == ["result"] * 3


async def test_firm_work_is_not_cut_short_and_is_waited_for():
    runs, work = Runs(), Work()
    task = await begin(runs, work, firm=True)
    runs.overtake(1, 2)
    settled = asyncio.create_task(runs.settled(1, 2))
    await asyncio.sleep(0)
    assert not settled.done()
    work.may_end.set()
    await settled
    assert (await task, work.end) == ("result", "done")


async def test_the_newer_run_begins_when_the_older_has_let_go():
    order = []

    async def slow_to_let_go() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            await asyncio.sleep(0.01)
            order.append("older let go")

    runs = Runs()
    older = asyncio.create_task(runs.guard(1, 1, slow_to_let_go()))
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    runs.overtake(1, 2)
    await runs.settled(1, 2)
    order.append("newer begins")
    with pytest.raises(Superseded):
        await older
    assert order == ["older let go", "newer begins"]


async def test_a_shutdown_is_no_overtaking_and_ends_the_work_first():
    runs, work = Runs(), Work()
    task = await begin(runs, work)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert work.end == "cut short"


async def test_nothing_is_remembered_of_what_is_over():
    runs, work = Runs(), Work()
    task = await begin(runs, work, firm=True)
    work.may_end.set()
    await task
    assert (runs._active, runs._firm, runs._overtaken) == ({}, set(), set())
