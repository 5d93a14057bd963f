"""A cluster of nodes that every process reaches by an adapter of its own."""

import asyncio
from collections.abc import Iterable
from random import Random
from typing import Any
from unittest.mock import patch

from mainspring.adapters.cassandra import layout
from mainspring.adapters.cassandra.layout import TRAIL, micros
from mainspring.adapters.cassandra.store import CassandraStore
from mainspring.testing.rows.cluster import Cluster
from mainspring.testing.rows.weak import WeakRows
from mainspring.testing.simulation.cassandra.asking import AskingClock, Overheard, current
from mainspring.testing.simulation.cassandra.messenger import SimulatedMessenger
from mainspring.testing.simulation.cassandra.witness import Storyteller
from mainspring.testing.simulation.history import History
from mainspring.testing.simulation.judging.cells import read_cells
from mainspring.testing.simulation.judging.leeway import Leeway
from mainspring.testing.simulation.judging.rows import Rows
from mainspring.testing.simulation.ports import ProcessClock, SeededRandom, StoreClock
from mainspring.testing.simulation.process import Process
from mainspring.testing.simulation.storage import PATIENCE
from mainspring.testing.simulation.universe import Universe
from mainspring.testing.simulation.weather import Weather

_A_WHILE = 0.01
_SHARDS = 2
"""Enough for workers to have some of their own; more would only be read one after the other."""


class CassandraStorage:
    """The nodes, and the adapters of all processes that live."""

    worst_skew = 5.0
    leeway = Leeway(claims_outlive_sessions=TRAIL, takers_decide=True, letters_follow=True)
    shards = CassandraStore.shards

    def __init__(
        self, universe: Universe, weather: Weather, history: History, clock: StoreClock, random: Random
    ) -> None:
        self._universe = universe
        self._weather = weather
        self._clock = clock
        self._random = random
        self._storyteller = Storyteller(universe, history)
        self._cluster = Cluster(random.random, self._storyteller)
        self._stores: dict[str, CassandraStore] = {}
        self._keeper = Process(universe, history, "keeper", 1, random)
        self._few_shards = patch.object(layout, "SHARDS", _SHARDS)
        self._few_shards.start()

    def port(self, process: Process, name: str) -> Any:
        """Of the process's own store."""
        store = self._stores.get(process.label)
        if store is None:
            store = self._stores[process.label] = self._open(process)
        return Overheard(getattr(store, name), name, process, self._storyteller)

    def ask(self, verb: str, *arguments: Any) -> Any:
        """By a process that never fails, while time goes on for everybody."""
        port, _, name = verb.partition(".")
        answers: list[Any] = []
        task: asyncio.Task[Any] = self._keeper.main.create_task(
            getattr(self.port(self._keeper, port), name)(*arguments)
        )
        task.add_done_callback(answers.append)
        while not answers:
            self._universe.run_until(self._universe.time + _A_WHILE)
        return task.result()

    def heal(self, processes: Iterable[Process]) -> None:
        """Whatever was hazy reaches the last node, and clocks are set: due is what a process's own clock says."""
        self._cluster.repair()
        for process in processes:
            process.skew = 0.0

    def rows(self) -> Rows:
        """From the nodes."""
        return read_cells(self._cluster, micros(ProcessClock(self._keeper).now()), PATIENCE)

    def end(self) -> None:
        """Nothing is open."""
        self._few_shards.stop()

    def _open(self, process: Process) -> CassandraStore:
        clock = AskingClock(process)
        messenger = SimulatedMessenger(process, self._weather, self._clock, self._random.random)
        rows = WeakRows(self._cluster, messenger, clock, current)
        return CassandraStore.over(rows, clock=clock, random=SeededRandom(process))
