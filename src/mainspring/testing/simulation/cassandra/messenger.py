"""The way from a process to the nodes and back: each request of a verb has a fate of its own."""

import asyncio
from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Any

from mainspring.errors import StoreUnavailable
from mainspring.testing.rows.weak import Request, Unheard
from mainspring.testing.simulation.ports import StoreClock
from mainspring.testing.simulation.process import Process
from mainspring.testing.simulation.weather import Trip, Weather

_EPOCH = datetime.fromisoformat("1970-01-01T00:00:00+00:00")
_LONGEST = 20.0
_NEVER = 0.3


class SimulatedMessenger:
    """The `Messenger` of one process."""

    def __init__(self, process: Process, weather: Weather, clock: StoreClock, chance: Callable[[], float]) -> None:
        self._process = process
        self._universe = process.universe
        self._weather = weather
        self._clock = clock
        self._chance = chance

    async def carry(self, requests: Sequence[Request]) -> Sequence[Any]:
        """If anything goes wrong with the verb, it goes wrong with each of its requests in another way."""
        self._process.check()
        trip = self._weather.trip()
        future = asyncio.get_running_loop().create_future()
        waiting = _Answers(future, len(requests))
        if trip.arrives is not None and trip.answer is not None:
            for position, request in enumerate(requests):
                self._universe.after(trip.arrives, self._arrive, request, trip.answer, waiting, position)
        else:
            self._send_badly(requests, waiting, trip.gives_up)
        answers: Sequence[Any] = await future
        return answers

    def later(self, callback: Callable[[], None]) -> None:
        """After some seconds, or never."""
        if self._chance() >= _NEVER:
            self._universe.after(_LONGEST * self._chance() ** 2, callback)

    def now(self) -> int:
        """By the nodes' clock, which is nobody else's."""
        return int((self._clock.now() - _EPOCH).total_seconds() * 1_000_000)

    def _send_badly(self, requests: Sequence[Request], waiting: "_Answers", gives_up: float) -> None:
        trips = [self._weather.bad_trip() for _ in requests]
        for position, (request, trip) in enumerate(zip(requests, trips, strict=True)):
            arrives = self._arrival(request, trip)
            if arrives is not None:
                self._universe.after(arrives, self._arrive, request, trip.answer, waiting, position)
        gives_up = max([gives_up, *(trip.gives_up for trip in trips)])
        self._universe.after(gives_up, waiting.fail, Unheard("no answer"))

    def _arrival(self, request: Request, trip: Trip) -> float | None:
        if trip.arrives is None or not request.conditional or trip.answer is not None:
            return trip.arrives
        return min(trip.arrives, trip.gives_up)

    def _arrive(self, request: Request, answer: float | None, waiting: "_Answers", position: int) -> None:
        if self._universe.time < self._weather.away_until:
            if answer is not None:
                self._universe.after(answer, waiting.fail, StoreUnavailable("away"))
            return
        value = request.carry_out(answer is not None)
        if answer is not None:
            self._universe.after(answer, waiting.take, position, value)


class _Answers:
    """What has been answered of several requests; the process goes on once all are, or one has failed."""

    def __init__(self, future: "asyncio.Future[Sequence[Any]]", count: int) -> None:
        self._future = future
        self._values: list[Any] = [None] * count
        self._missing = count

    def take(self, position: int, value: Any) -> None:
        """One answer has come."""
        self._values[position] = value
        self._missing -= 1
        if not self._missing and not self._future.done():
            self._future.set_result(self._values)

    def fail(self, error: StoreUnavailable) -> None:
        """No other answer matters any more."""
        if not self._future.done():
            self._future.set_exception(error)
