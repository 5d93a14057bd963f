"""What a simulated cluster keeps everything in: a store as its processes reach it, and as its judges see it."""

from collections.abc import Iterable
from enum import StrEnum
from math import inf
from typing import Any, Protocol

from mainspring.adapters.sqlite.rows import to_micros
from mainspring.adapters.sqlite.store import SqliteStore
from mainspring.testing.simulation.history import History
from mainspring.testing.simulation.judging.leeway import NONE, Leeway
from mainspring.testing.simulation.judging.rows import Rows, read
from mainspring.testing.simulation.network import Network, Remote, finish
from mainspring.testing.simulation.ports import StoreClock
from mainspring.testing.simulation.process import Process
from mainspring.testing.simulation.universe import Universe
from mainspring.testing.simulation.weather import Weather

PATIENCE = 3_000_000
"""Microseconds that a moment may be late in a healthy world."""


class Store(StrEnum):
    """The adapters that can be simulated."""

    SQLITE = "sqlite"
    BROKER = "broker"
    """SQLite again, with work by way of a broker."""
    CASSANDRA = "cassandra"
    CASSANDRA_BROKER = "cassandra-broker"
    """Cassandra again, with one."""

    @property
    def over_rows(self) -> bool:
        """Whether what is kept lies in the rows of a weak cluster."""
        return self in {Store.CASSANDRA, Store.CASSANDRA_BROKER}

    @property
    def with_broker(self) -> bool:
        """Whether work comes by way of a broker."""
        return self in {Store.BROKER, Store.CASSANDRA_BROKER}


class Storage(Protocol):
    """One store for all processes of a world."""

    worst_skew: float
    """Seconds by which a process's clock may be wrong before promises are off."""
    leeway: Leeway
    shards: int
    """Of the timetable."""

    def port(self, process: Process, name: str) -> Any:
        """A port of the store as *process* reaches it."""
        ...

    def ask(self, verb: str, *arguments: Any) -> Any:
        """Have a verb carried out as somebody whom no fault can touch."""
        ...

    def heal(self, processes: Iterable[Process]) -> None:
        """End every fault that lies in the store itself, or that it doesn't put up with for ever."""
        ...

    def rows(self) -> Rows:
        """What is stored, read past all ports."""
        ...

    def end(self) -> None:
        """Let go of everything."""
        ...


class SqliteStorage:
    """One server that everybody asks: each verb is a trip over the network, and is carried out whole or not at all."""

    worst_skew = inf
    leeway = NONE
    shards = SqliteStore.shards

    def __init__(self, universe: Universe, weather: Weather, history: History, clock: StoreClock) -> None:
        self._clock = clock
        self._store: SqliteStore = finish(SqliteStore.open(":memory:", clock=clock, inline=True))
        self._network = Network(universe, weather, history, self._store, clock)

    def port(self, process: Process, name: str) -> Any:
        """Over the network."""
        return Remote(self._network, process, name)

    def ask(self, verb: str, *arguments: Any) -> Any:
        """At once."""
        answer = self._network.apply("keeper", verb, arguments, {})
        if isinstance(answer, Exception):
            raise answer
        return answer

    def heal(self, processes: Iterable[Process]) -> None:
        """Nothing is ever left halfway, and nobody's clock matters."""

    def rows(self) -> Rows:
        """From the tables."""
        return read(self._store, to_micros(self._clock.now()), PATIENCE)

    def end(self) -> None:
        """Close the database."""
        finish(self._store.close())
