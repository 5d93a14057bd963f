"""Clock, chance, journal, threads and signals of a simulated process."""

import asyncio
import functools
from collections.abc import Awaitable, Callable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, TypeVar

from mainspring.adapters.inbox import Inbox
from mainspring.domain.outcome import Verdict
from mainspring.ports.journal import Finished, Note, Orphan
from mainspring.testing.clock import START
from mainspring.testing.simulation.history import Journalled
from mainspring.testing.simulation.loop import VirtualLoop
from mainspring.testing.simulation.process import Process
from mainspring.testing.simulation.universe import Universe
from mainspring.testing.simulation.weather import Weather

T = TypeVar("T")


class StoreClock:
    """The store's own clock; an administrator may set it."""

    def __init__(self, universe: Universe) -> None:
        self._universe = universe
        self.offset = 0.0

    def now(self) -> datetime:
        """Virtual time, and by how much it was set."""
        return START + timedelta(seconds=self._universe.time + self.offset)


class ProcessClock:
    """The `Clock` port: as wrong as the process's machine says."""

    def __init__(self, process: Process) -> None:
        self._process = process
        self._universe = process.universe

    def now(self) -> datetime:
        """The wall clock of this machine."""
        return START + timedelta(seconds=self._universe.time + self._process.skew)

    def monotonic(self) -> float:
        """Virtual seconds: no machine's pace differs."""
        return self._universe.time

    async def sleep(self, duration: timedelta) -> None:
        """Virtual sleep."""
        await asyncio.sleep(duration.total_seconds())


class SeededRandom:
    """The `Random` port: the same in every repetition."""

    def __init__(self, process: Process) -> None:
        self._random = process.random

    def bits(self, count: int) -> int:
        """From the process's own stream."""
        return self._random.getrandbits(count)

    def uniform(self) -> float:
        """From the process's own stream."""
        return self._random.random()


class SimulatedJournal:
    """The `Journal` port over a list that outlives the process. Power loss may take the end of it, SIGKILL nothing."""

    def __init__(self, disk: list[Note], process: Process, left: Callable[[], Mapping[str, list[Note]]]) -> None:
        self._disk = disk
        self._process = process
        self._left = left

    def append(self, notes: Sequence[Note]) -> None:
        """At the end."""
        self._process.check()
        self._disk.extend(notes)
        self._process.history.record(Journalled(self._process.universe.time, self._process.label, tuple(notes)))

    def replay(self) -> Sequence[Note]:
        """From the beginning."""
        return list(self._disk)

    def rewrite(self, notes: Sequence[Note]) -> None:
        """In place of all that was there."""
        self._process.check()
        self._disk[:] = notes

    def orphans(self) -> Sequence[Orphan]:
        """Of those on this machine that were killed, and not by a loss of power."""
        self._process.check()
        left = self._left().items()
        found = [(name, [each.verdict for each in disk if isinstance(each, Finished)]) for name, disk in left]
        return [Orphan(name=name, finished=verdicts) for name, verdicts in found if verdicts]

    def forget(self, orphan: Orphan, settled: Sequence[Verdict]) -> None:
        """Unless it lives again."""
        self._process.check()
        disk = self._left().get(orphan.name, [])
        disk[:] = [each for each in disk if not isinstance(each, Finished) or each.verdict not in settled]

    @property
    def size(self) -> int:
        """About as much as it takes on a disk, with a page that is soon full."""
        return len(self._disk) * 200_000

    def close(self) -> None:
        """There is nothing to let go of."""


class SimulatedTasks:
    """The `Tasks` port: every thread and child is a loop of its own, and takes its time before and after its work."""

    def __init__(self, process: Process) -> None:
        self._process = process

    async def in_thread(self, function: Callable[[], T]) -> T:
        """Cancelling the wait leaves the thread to its work."""
        result: T = await self._beside(self._process.thread(), function)
        return result

    async def in_process(self, function: Callable[..., Any], arguments: Mapping[str, Any]) -> Any:
        """Cancelling the wait kills the child."""
        child = self._process.thread()
        try:
            return await self._beside(child, functools.partial(function, **arguments))
        finally:
            child.halt()

    def aside(self, main: Callable[[], Awaitable[None]]) -> "SimulatedAside":
        """On a loop of its own."""
        return SimulatedAside(self._process.thread(), main)

    def _beside(self, thread: VirtualLoop, function: Callable[[], Any]) -> "asyncio.Future[Any]":
        loop = asyncio.get_running_loop()
        answer: asyncio.Future[Any] = loop.create_future()
        before, after = (self._process.random.random() ** 4 for _ in range(2))

        async def work() -> None:
            await asyncio.sleep(before)
            value, error = None, None
            try:
                value = function()
            except Exception as raised:  # noqa: BLE001 - whatever it is, it belongs to the caller
                error = raised
            await asyncio.sleep(after)
            loop.call_soon_threadsafe(_resolve, answer, value, error)

        thread.create_task(work())
        return answer


class SimulatedAside:
    """A coroutine on its own loop, until it returns or is stopped."""

    def __init__(self, thread: VirtualLoop, main: Callable[[], Awaitable[None]]) -> None:
        async def run() -> None:
            await main()

        self._thread = thread
        self._task = thread.create_task(run())

    async def stop(self) -> None:
        """Cancel it and wait until it has ended."""
        loop = asyncio.get_running_loop()
        ended = loop.create_future()

        def arrange() -> None:
            self._task.cancel()
            self._task.add_done_callback(lambda _: loop.call_soon_threadsafe(ended.set_result, None))

        self._thread.call_soon_threadsafe(arrange)
        await ended


class Signalling:
    """All subscribers of all processes. A signal may be lost on its way to each of them."""

    def __init__(self, universe: Universe, weather: Weather, chance: Callable[[], float]) -> None:
        self.universe = universe
        self._weather = weather
        self._chance = chance
        self._subscribers: list[SimulatedSignals] = []

    def subscribe(self, process: Process) -> "SimulatedSignals":
        """A `Signals` for one part of a process."""
        subscriber = SimulatedSignals(self, process)
        self._subscribers.append(subscriber)
        return subscriber

    def sender(self, process: Process) -> "SimulatedSignals":
        """A `Signals` for a process that only notifies."""
        return SimulatedSignals(self, process)

    def publish(self, topics: Sequence[str]) -> None:
        """Send *topics* to everybody who lives."""
        self._subscribers = [each for each in self._subscribers if each.process.alive]
        for each in self._subscribers:
            if self._weather.clear or self._chance() >= self._weather.signals_lost:
                self.universe.after(self._weather.latency(), each.receive, topics)


class SimulatedSignals:
    """The `Signals` port, with the inbox that real transports have."""

    def __init__(self, hub: Signalling, process: Process) -> None:
        self._hub = hub
        self.process = process
        self._inbox = Inbox()

    async def notify(self, topics: Sequence[str]) -> None:
        """To everybody, ourselves included."""
        self.process.check()
        self._hub.publish(topics)

    async def wait(self, topics: Sequence[str], at_most: timedelta) -> bool:
        """For one of *topics*."""
        return await self._inbox.wait(topics, at_most)

    def receive(self, topics: Sequence[str]) -> None:
        """Take *topics* in, on the process's own loop."""
        self.process.main.call_soon_threadsafe(self._inbox.deliver, topics)


def _resolve(answer: "asyncio.Future[Any]", value: Any, error: Exception | None) -> None:
    if answer.done():
        return
    if error is None:
        answer.set_result(value)
    else:
        answer.set_exception(error)
