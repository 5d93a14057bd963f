"""Simulated processes die, stand still and block as real ones do."""

import asyncio
from collections.abc import Awaitable, Callable
from datetime import timedelta
from random import Random

import pytest

from mainspring.domain.ids import SessionId
from mainspring.ports.journal import Opened
from mainspring.testing.simulation.history import History
from mainspring.testing.simulation.ports import ProcessClock, SimulatedJournal, SimulatedTasks
from mainspring.testing.simulation.process import Dead, Process
from mainspring.testing.simulation.universe import Stuck, Universe

SECOND = timedelta(seconds=1)


class Site:
    """A universe with one process that ticks once a second and notes when."""

    def __init__(self) -> None:
        self.universe = Universe(Random(1))
        self.process = Process(self.universe, History(), "worker-1", 1, Random(2))
        self.clock = ProcessClock(self.process)
        self.ticks: list[int] = []

    async def tick(self, ticks: list[int] | None = None) -> None:
        noted = self.ticks if ticks is None else ticks
        while True:
            await self.clock.sleep(SECOND)
            noted.append(int(self.universe.time))

    def run(self, main: Callable[[], Awaitable[None]], until: float) -> None:
        async def begin() -> None:
            await main()

        self.process.start(begin())
        self.universe.run_until(until)


@pytest.fixture
def site() -> Site:
    return Site()


def test_time_passes_without_waiting(site: Site) -> None:
    site.run(site.tick, 3600.5)
    assert len(site.ticks) == 3600


def test_a_killed_process_never_resumes_and_tidies_nothing_up(site: Site) -> None:
    tidied = []

    async def main() -> None:
        try:
            await site.tick()
        finally:
            tidied.append(True)

    site.universe.at(2.5, site.process.crash)
    site.run(main, 10)
    assert site.ticks == [1, 2]
    assert not tidied


def test_a_process_dies_at_the_step_that_it_was_told(site: Site) -> None:
    steps: list[int] = []

    async def main() -> None:
        while True:
            steps.append(len(steps))
            await asyncio.sleep(0)

    site.process.crash_soon(5)
    site.run(main, 1)
    assert len(steps) == 5


def test_what_a_dead_process_still_tries_reaches_nobody(site: Site) -> None:
    disk: list[object] = []
    journal = SimulatedJournal(disk, site.process, dict)  # type: ignore[arg-type]  # any list will do
    site.process.crash()
    with pytest.raises(Dead):
        journal.append([Opened(SessionId(1))])
    assert not disk


def test_a_paused_process_stands_still_and_then_goes_on(site: Site) -> None:
    site.universe.at(2.5, site.process.pause, 4.0)
    site.run(site.tick, 9.9)
    assert site.ticks == [1, 2, 6, 7, 8, 9]  # what fell due at 3 comes at 6.5, and the rest a second apart


def test_a_blocked_loop_leaves_the_others_alone(site: Site) -> None:
    beats: list[int] = []

    async def main() -> None:
        SimulatedTasks(site.process).aside(lambda: site.tick(beats))
        await site.tick()

    site.universe.at(1.5, site.process.block, 3.0)
    site.run(main, 5.2)
    assert beats == [1, 2, 3, 4, 5]
    assert site.ticks == [1, 4]


def test_an_aside_that_is_stopped_has_ended(site: Site) -> None:
    beats: list[int] = []

    async def main() -> None:
        aside = SimulatedTasks(site.process).aside(lambda: site.tick(beats))
        await site.clock.sleep(2.5 * SECOND)
        await aside.stop()
        await site.clock.sleep(5 * SECOND)

    site.run(main, 7.4)
    assert beats == [1, 2]


def test_a_thread_goes_on_after_the_wait_for_it_was_cancelled(site: Site) -> None:
    done = []

    async def main() -> None:
        waiting = asyncio.ensure_future(SimulatedTasks(site.process).in_thread(lambda: done.append(True)))
        await asyncio.sleep(0)
        waiting.cancel()
        await site.clock.sleep(9 * SECOND)

    site.run(main, 5)
    assert done


def test_a_child_dies_with_the_wait_for_it(site: Site) -> None:
    done = []

    async def main() -> None:
        waiting = asyncio.ensure_future(SimulatedTasks(site.process).in_process(lambda: done.append(True), {}))
        await asyncio.sleep(0)
        waiting.cancel()
        await site.clock.sleep(9 * SECOND)

    site.run(main, 5)
    assert not done


def test_whoever_spins_is_found_out(site: Site) -> None:
    async def main() -> None:
        while True:
            await site.clock.sleep(timedelta(0))

    with pytest.raises(Stuck, match="somebody spins"):
        site.run(main, 10)


def test_a_main_that_raises_is_complained_about(site: Site) -> None:
    async def main() -> None:
        raise ValueError("a defect")

    site.universe.at(2, lambda: None)
    site.run(main, 1)
    assert "a defect" in site.universe.complaints[0]
