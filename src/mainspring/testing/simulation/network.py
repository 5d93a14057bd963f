"""The way from a process to the store and back. A call that got no answer may have been carried out, or will be yet."""

import asyncio
from asyncio.events import _set_running_loop
from collections.abc import Callable
from typing import Any

from mainspring.errors import StoreError, StoreUnavailable
from mainspring.testing.simulation.history import Applied, History
from mainspring.testing.simulation.process import Process
from mainspring.testing.simulation.universe import Universe
from mainspring.testing.simulation.weather import Weather

READS = frozenset(
    {
        "work.next_wake",
        "sessions.live",
        "sessions.held",
        "sessions.overdue",
        "timetable.due",
        "sessions.audit",
        "upkeep.fold",
        "upkeep.prune",
        "audit.chain",
    }
)
"""Verbs that change nothing here, or nothing that a property speaks of: kept out of the history."""

Request = tuple[str, str, tuple[Any, ...], dict[str, Any], float]
"""Who asks, the verb, its arguments and options, and when."""


class Network:
    """Carries calls to the one store that everybody shares."""

    def __init__(self, universe: Universe, weather: Weather, history: History, store: Any, clock: Any) -> None:
        self.store = store
        self._universe = universe
        self._weather = weather
        self._history = history
        self._clock = clock
        self._server = universe.loop("store")

    async def call(self, process: Process, verb: str, arguments: tuple[Any, ...], options: dict[str, Any]) -> Any:
        """Send a request and wait for its answer, or for the moment to give up."""
        process.check()
        loop = asyncio.get_running_loop()
        answer = loop.create_future()
        trip = self._weather.trip()

        def reply(value: Any) -> None:
            loop.call_soon_threadsafe(_resolve, answer, value)

        if trip.arrives is not None:
            request = (process.label, verb, arguments, options, self._universe.time)
            self._universe.after(trip.arrives, self._arrive, request, trip.answer, reply)
        if trip.answer is None:
            self._universe.after(trip.gives_up, reply, StoreUnavailable("no answer"))
        return await answer

    def apply(
        self, label: str, verb: str, arguments: tuple[Any, ...], options: dict[str, Any], sent: float | None = None
    ) -> Any:
        """Have the store carry out a verb now; return what it answers, or the error that it raises."""
        port, _, name = verb.partition(".")
        now = self._clock.now()
        _set_running_loop(self._server)
        try:
            answer = finish(getattr(getattr(self.store, port), name)(*arguments, **options))
        except Exception as error:  # noqa: BLE001 - whatever it is, it is the answer
            answer = error
        finally:
            _set_running_loop(None)
        if verb not in READS and not verb.startswith("views."):
            at = self._universe.time
            self._history.record(Applied(at, now, label, verb, arguments, answer, at if sent is None else sent))
        return answer

    def _arrive(self, request: Request, takes: float | None, reply: Callable[[Any], None]) -> None:
        if self._universe.time < self._weather.away_until:
            answer: Any = StoreUnavailable("away")
        else:
            answer = self.apply(*request)
        if takes is not None:
            self._universe.after(takes, reply, answer)


class Remote:
    """One port of the store as a process sees it: every verb is a trip over the network."""

    def __init__(self, network: Network, process: Process, port: str) -> None:
        self._network = network
        self._process = process
        self._port = port

    def __getattr__(self, name: str) -> Any:
        network, process, verb = self._network, self._process, f"{self._port}.{name}"

        async def call(*arguments: Any, **options: Any) -> Any:
            return await network.call(process, verb, arguments, options)

        setattr(self, name, call)
        return call


def _resolve(answer: "asyncio.Future[Any]", value: Any) -> None:
    if answer.done():
        return
    if isinstance(value, Exception):
        # Each caller gets an error of its own: one that is raised twice would carry both traces.
        answer.set_exception(type(value)(*value.args) if isinstance(value, StoreError) else value)
    else:
        answer.set_result(value)


def finish(coroutine: Any) -> Any:
    """Run a coroutine that never waits to its end."""
    try:
        coroutine.send(None)
    except StopIteration as ended:
        return ended.value
    raise RuntimeError("the store waited for something: it must run inline")
