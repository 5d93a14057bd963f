"""Requests to nodes are lost, late and unheard one by one, whatever becomes of the process that sent them."""

from random import Random
from typing import Any

import pytest

from mainspring.errors import StoreUnavailable
from mainspring.testing.rows.weak import Request, Unheard
from mainspring.testing.simulation.cassandra.messenger import SimulatedMessenger
from mainspring.testing.simulation.history import History
from mainspring.testing.simulation.ports import StoreClock
from mainspring.testing.simulation.process import Process
from mainspring.testing.simulation.universe import Universe
from mainspring.testing.simulation.weather import Trip, Weather

WELL, LOST, UNHEARD, LATE = Trip(1.0, 1.0, 0.0), Trip(None, None, 3.0), Trip(1.0, None, 3.0), Trip(20.0, None, 3.0)


class Line:
    """A process, and between it and some nodes whatever *trips* say: the first is the verb's, the others follow."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, *trips: Trip) -> None:
        self.universe, self.weather = Universe(Random(1)), Weather(Random(1))
        fates = iter(trips)
        monkeypatch.setattr(Weather, "trip", lambda _: next(fates))
        monkeypatch.setattr(Weather, "bad_trip", lambda _: next(fates))
        self.process = Process(self.universe, History(), "worker-1", 1, Random(2))
        self.messenger = SimulatedMessenger(self.process, self.weather, StoreClock(self.universe), lambda: 0.5)
        self.carried_out: list[tuple[str, bool, int]] = []
        self.answers: list[Any] = []

    def send(self, *names: str, until: float, conditional: bool = False) -> None:
        requests = [self._request(name, conditional=conditional) for name in names]
        self.process.start(self._send(requests))
        self.universe.run_until(until)

    def _request(self, name: str, *, conditional: bool) -> Request:
        def carry_out(heard: bool) -> str:
            self.carried_out.append((name, heard, round(self.universe.time)))
            return name

        return Request(carry_out, conditional)

    async def _send(self, requests: list[Request]) -> None:
        try:
            self.answers.append(await self.messenger.carry(requests))
        except StoreUnavailable as error:
            self.answers.append(error)


def test_a_verb_is_answered_once_all_its_requests_are(monkeypatch: pytest.MonkeyPatch) -> None:
    line = Line(monkeypatch, WELL)
    line.send("a", "b", until=9)
    assert line.carried_out == [("a", True, 1), ("b", True, 1)]
    assert line.answers == [["a", "b"]]


def test_the_requests_of_a_verb_that_goes_wrong_go_wrong_in_different_ways(monkeypatch: pytest.MonkeyPatch) -> None:
    line = Line(monkeypatch, UNHEARD, LOST, UNHEARD, LATE, WELL)
    line.send("a", "b", "c", "d", until=60)
    assert line.carried_out == [("b", False, 1), ("d", True, 1), ("c", False, 20)]
    assert isinstance(line.answers[0], Unheard)


def test_a_conditional_request_never_begins_after_its_sender_has_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    line = Line(monkeypatch, LATE, LATE)
    line.send("a", until=60, conditional=True)
    assert line.carried_out == [("a", False, 3)]
    assert isinstance(line.answers[0], Unheard)


def test_a_request_outlives_its_process(monkeypatch: pytest.MonkeyPatch) -> None:
    line = Line(monkeypatch, WELL)
    line.universe.at(0.5, line.process.crash)
    line.send("a", until=9)
    assert line.carried_out == [("a", True, 1)]
    assert not line.answers


def test_nodes_that_are_away_do_nothing_and_say_so(monkeypatch: pytest.MonkeyPatch) -> None:
    line = Line(monkeypatch, WELL)
    line.weather.away_until = 5.0
    line.send("a", until=9)
    assert not line.carried_out
    assert isinstance(line.answers[0], StoreUnavailable)
    assert not isinstance(line.answers[0], Unheard)


def test_what_comes_later_comes_by_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    line = Line(monkeypatch)
    came = []
    line.messenger.later(lambda: came.append(round(line.universe.time)))
    line.universe.run_until(60)
    assert came == [5]
