"""Calls that get no answer may have been carried out: now, later or never."""

from random import Random
from typing import Any

import pytest

from mainspring.errors import StoreUnavailable
from mainspring.testing.simulation.history import Applied, History
from mainspring.testing.simulation.network import Network, Remote
from mainspring.testing.simulation.ports import StoreClock
from mainspring.testing.simulation.process import Process
from mainspring.testing.simulation.universe import Universe
from mainspring.testing.simulation.weather import Trip, Weather


class Counter:
    """A store with one verb."""

    def __init__(self) -> None:
        self.value = 0

    async def add(self, amount: int) -> int:
        self.value += amount
        return self.value


class Store:
    """A store with one port."""

    def __init__(self) -> None:
        self.counter = Counter()


class Line:
    """A process and a store, and between them whatever *trip* says."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, trip: Trip) -> None:
        self.universe, self.history = Universe(Random(1)), History()
        self.store = Store()
        self.weather = Weather(Random(1))
        monkeypatch.setattr(Weather, "trip", lambda _: trip)
        network = Network(self.universe, self.weather, self.history, self.store, StoreClock(self.universe))
        self.process = Process(self.universe, self.history, "client-1", 1, Random(2))
        self.counter: Any = Remote(network, self.process, "counter")
        self.answers: list[Any] = []

    def ask(self, until: float) -> None:
        self.process.start(self._ask())
        self.universe.run_until(until)

    async def _ask(self) -> None:
        try:
            self.answers.append(await self.counter.add(1))
        except StoreUnavailable as error:
            self.answers.append(error)


def test_a_call_is_carried_out_and_answered(monkeypatch: pytest.MonkeyPatch) -> None:
    line = Line(monkeypatch, Trip(1.0, 1.0, 0.0))
    line.ask(1.5)
    assert (line.store.counter.value, line.answers) == (1, [])
    line.universe.run_until(3)
    assert line.answers == [1]


def test_a_lost_request_is_never_carried_out(monkeypatch: pytest.MonkeyPatch) -> None:
    line = Line(monkeypatch, Trip(None, None, 2.0))
    line.ask(60)
    assert line.store.counter.value == 0
    assert isinstance(line.answers[0], StoreUnavailable)


def test_a_lost_reply_leaves_the_caller_in_the_dark(monkeypatch: pytest.MonkeyPatch) -> None:
    line = Line(monkeypatch, Trip(1.0, None, 2.0))
    line.ask(60)
    assert line.store.counter.value == 1
    assert isinstance(line.answers[0], StoreUnavailable)


def test_a_late_request_is_carried_out_after_its_caller_gave_up(monkeypatch: pytest.MonkeyPatch) -> None:
    line = Line(monkeypatch, Trip(20.0, None, 2.0))
    line.ask(10)
    assert (line.store.counter.value, len(line.answers)) == (0, 1)
    line.universe.run_until(30)
    assert line.store.counter.value == 1


def test_a_request_outlives_its_process(monkeypatch: pytest.MonkeyPatch) -> None:
    line = Line(monkeypatch, Trip(5.0, 1.0, 0.0))
    line.universe.at(2.0, line.process.crash)
    line.ask(10)
    assert (line.store.counter.value, line.answers) == (1, [])


def test_a_store_that_is_away_carries_nothing_out(monkeypatch: pytest.MonkeyPatch) -> None:
    line = Line(monkeypatch, Trip(1.0, 1.0, 0.0))
    line.weather.away_until = 5.0
    line.ask(10)
    assert line.store.counter.value == 0
    assert isinstance(line.answers[0], StoreUnavailable)


def test_the_history_tells_what_was_applied_and_when_it_was_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    line = Line(monkeypatch, Trip(1.0, 1.0, 0.0))
    line.ask(3)
    [applied] = [event for event in line.history.events if isinstance(event, Applied)]
    assert (applied.verb, applied.answer, round(applied.sent), round(applied.at)) == ("counter.add", 1, 0, 1)
