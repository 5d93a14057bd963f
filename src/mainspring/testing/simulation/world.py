"""A small cluster and its life: processes that come and go around one store, first in bad weather, then healed."""

from collections.abc import Mapping, Sequence
from functools import partial
from random import Random

from mainspring.ports.journal import Finished, Note
from mainspring.testing.simulation.broker import SimulatedServer
from mainspring.testing.simulation.chaos import Chaos
from mainspring.testing.simulation.client import Client
from mainspring.testing.simulation.handlers import Effects
from mainspring.testing.simulation.history import Happened, History
from mainspring.testing.simulation.ports import Signalling, SimulatedJournal, StoreClock
from mainspring.testing.simulation.process import Process
from mainspring.testing.simulation.roles import Surroundings, schedule, work
from mainspring.testing.simulation.storage import SqliteStorage, Storage, Store
from mainspring.testing.simulation.universe import Universe
from mainspring.testing.simulation.weather import CHANCES, FAIRER_CHANCES, Weather
from mainspring.testing.simulation.workload import Ledger, Workload

_LONGEST_ABSENCE = 12.0
_GONE_FOR_GOOD = 0.3
_MACHINES = ("here", "here", "there")


class World:
    """Everything of one schedule."""

    def __init__(self, seed: int, store: Store) -> None:
        self.seed = seed
        self.universe = Universe(self._stream("order"))
        self.history = History()
        self.weather = Weather(self._stream("weather"), FAIRER_CHANCES if store.over_rows else CHANCES)
        self.clock = StoreClock(self.universe)
        self.storage = self._build(store)
        self.servants: dict[str, Process] = {}
        """The newest life of every worker and scheduler."""
        self.clients: list[Process] = []
        self._around = Surroundings(
            storage=self.storage,
            signalling=Signalling(self.universe, self.weather, self._stream("signals").random),
            effects=Effects(),
            broker=self._broker() if store.with_broker else None,
        )
        self._doomed: set[str] = set()
        """Those who don't come back after their first end."""
        self._disks: dict[str, list[Note]] = {}
        self._machines: dict[str, str] = {}
        """Where each worker lives: the dead on one's own machine leave something to settle."""
        self._absences = self._stream("absences")
        self._chaos = Chaos(self, self._stream("chaos"))
        self._populate(self._stream("population"))

    def heal(self) -> None:
        """End all faults: from now on, everything that is due must get done."""
        self.say("world", "healed")
        self._chaos.end()
        for process in self.servants.values():
            process.relieve()
        self.weather.clear_up()
        self.storage.heal((*self.servants.values(), *self.clients))

    def unsettled(self) -> Sequence[str]:
        """Who was killed and left finished work that somebody on its machine should have settled."""
        workers = [name for name in self._disks if self.servants[name].alive]
        left = {other: disk for name in workers for other, disk in self.left_beside(name).items()}
        return [name for name, disk in left.items() if any(isinstance(note, Finished) for note in disk)]

    def end(self) -> None:
        """Clear everything away."""
        for process in (*self.servants.values(), *self.clients):
            process.alive = False
        self.universe.end()
        self.storage.end()

    def say(self, who: str, what: str) -> None:
        """Note what happened to somebody."""
        self.history.record(Happened(self.universe.time, who, what))

    def _build(self, store: Store) -> Storage:
        around = self.universe, self.weather, self.history, self.clock
        if not store.over_rows:
            return SqliteStorage(*around)
        from mainspring.testing.simulation.cassandra.storage import CassandraStorage  # noqa: PLC0415 - only if needed

        return CassandraStorage(*around, self._stream("nodes"))

    def _broker(self) -> SimulatedServer:
        return SimulatedServer(self.universe, self.weather, self.history, self._stream("broker"))

    def _populate(self, random: Random) -> None:
        workers = random.choice((1, 2, 2, 3))
        if workers > 1 and random.random() < _GONE_FOR_GOOD:
            self._doomed.add("worker-1")
        for number in range(1, workers + 1):
            self._start(f"worker-{number}", 1)
        schedulers = random.choice((1, 2, 2))
        if schedulers > 1 and random.random() < _GONE_FOR_GOOD:
            self._doomed.add(f"scheduler-{random.choice((1, 2))}")
        for number in range(1, schedulers + 1):
            self._start(f"scheduler-{number}", 1)
        ledger = Ledger()
        for number in range(1, random.choice((1, 2)) + 1):
            name = f"client-{number}"
            process = Process(self.universe, self.history, name, 1, self._stream(name))
            self.clients.append(process)
            workload = Workload(Client(process, self._around), ledger, owner=f"owner-{number}")
            process.start(workload.run(random.randint(8, 20), random.choice((0.3, 1.0, 2.0))))
        self._chaos.begin()

    def _start(self, name: str, life: int) -> None:
        random = self._stream(f"{name}#{life}")
        process = Process(self.universe, self.history, name, life, random, gone=self._bring_back)
        self.servants[name] = process
        self.say(process.label, "started")
        if name.startswith("worker"):
            self._machines.setdefault(name, self._stream(f"machine of {name}").choice(_MACHINES))
            journal = SimulatedJournal(self._disks.setdefault(name, []), process, partial(self.left_beside, name))
            process.start(work(process, self._around, journal))
        else:
            process.start(schedule(process, self._around))

    def left_beside(self, name: str) -> Mapping[str, list[Note]]:
        """The journals of those on the machine of worker *name* that were killed and haven't come back."""
        return {
            other: disk
            for other, disk in self._disks.items()
            if self._machines[other] == self._machines[name]
            and not self.servants[other].alive
            and not self.servants[other].loses_power
        }

    def _bring_back(self, process: Process) -> None:
        """Whatever has ended is started again, sooner or later; what power loss took from its disk stays lost."""
        if process.name in self._doomed:
            return
        disk = self._disks.get(process.name)
        if process.loses_power and disk:
            lost = self._absences.randint(0, len(disk))
            self.say(process.label, f"lost power, and {lost} notes of its journal")
            del disk[len(disk) - lost :]
        absence = 0.05 + self._absences.random() ** 2 * (0.2 if self.weather.clear else _LONGEST_ABSENCE)
        self.universe.after(absence, self._start, process.name, process.life + 1)

    def _stream(self, purpose: str) -> Random:
        return Random(f"{self.seed}/{purpose}")
