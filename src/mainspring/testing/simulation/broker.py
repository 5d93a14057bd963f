"""A broker that does everything it may: it loses, repeats, delays and reorders messages, and goes away at times."""

import asyncio
from collections.abc import Sequence
from datetime import timedelta
from random import Random

from mainspring.adapters.inbox import Inbox
from mainspring.domain.ticket import read
from mainspring.ports.broker import Connection, Delivery, Message
from mainspring.testing.clock import START
from mainspring.testing.simulation.history import Applied, Happened, History
from mainspring.testing.simulation.process import Process
from mainspring.testing.simulation.universe import Universe
from mainspring.testing.simulation.weather import Weather

_VISIBILITY = 2.0
"""Seconds after which what was given out and not acknowledged is given out again."""
_LONGEST_DELAY = 12.0
"""More than the grace for which claims leave a run to its ticket."""
_RUBBISH = b"this is no ticket"


class SimulatedServer:
    """What all processes share: the messages, and the faults of this schedule."""

    def __init__(self, universe: Universe, weather: Weather, history: History, random: Random) -> None:
        self.universe = universe
        self.weather = weather
        self.history = history
        self.random = random
        self._lost, self._late, self._repeated = (random.choice((0.0, 0.0, 0.1, 0.4)) for _ in range(3))
        self._mean_calm = random.choice((4.0, 10.0, 1_000.0))
        self._messages: list[tuple[int, str, bytes]] = []
        self._unacknowledged: dict[int, tuple[str, bytes]] = {}
        self._number = 0
        self._instances: list[SimulatedBroker] = []
        self.away_until = 0.0
        self._next_fault()

    @property
    def up(self) -> bool:
        """Whether it can be reached."""
        return self.weather.clear or self.universe.time >= self.away_until

    def join(self, process: Process) -> "SimulatedBroker":
        """A `Broker` for one process."""
        instance = SimulatedBroker(self, process)
        self._instances.append(instance)
        return instance

    def accept(self, topic: str, body: bytes) -> None:
        """Take a message on its way to wherever its fate leads it."""
        copies = 2 if self._befalls(self._repeated) else 1
        if self._befalls(self._lost):
            copies -= 1
        for _ in range(copies):
            delay = _LONGEST_DELAY * self.random.random() if self._befalls(self._late) else self.weather.latency()
            self.universe.after(delay, self._arrive, topic, body)

    def give_out(self, topics: Sequence[str], limit: int) -> Sequence[Delivery]:
        """Up to *limit* messages, in no order; each is given out again unless it is acknowledged in time."""
        matching = [place for place, (_, topic, _) in enumerate(self._messages) if topic in topics]
        if not self.weather.clear:
            self.random.shuffle(matching)
        chosen = dict.fromkeys(matching[:limit])
        deliveries: list[Delivery] = []
        for place in chosen:
            number, topic, body = self._messages[place]
            self._unacknowledged[number] = topic, body
            self.universe.after(_VISIBILITY, self._give_out_again, number)
            deliveries.append(Delivery(topic=topic, body=body, receipt=number))
        self._messages = [message for place, message in enumerate(self._messages) if place not in chosen]
        return deliveries

    def forget(self, deliveries: Sequence[Delivery]) -> None:
        """These needn't be given out again."""
        for delivery in deliveries:
            assert isinstance(delivery.receipt, int)
            self._unacknowledged.pop(delivery.receipt, None)

    def _arrive(self, topic: str, body: bytes) -> None:
        self._number += 1
        self._messages.append((self._number, topic, body))
        self._instances = [each for each in self._instances if each.process.alive]
        for each in self._instances:
            each.process.main.call_soon_threadsafe(each.arrivals.deliver, [topic])

    def _give_out_again(self, number: int) -> None:
        if number in self._unacknowledged:
            self._arrive(*self._unacknowledged.pop(number))

    def _befalls(self, chance: float) -> bool:
        return not self.weather.clear and self.random.random() < chance

    def _next_fault(self) -> None:
        self.universe.after(self.random.expovariate(1 / self._mean_calm), self._strike)

    def _strike(self) -> None:
        if self.weather.clear:
            return
        fault = self.random.choice(("away", "flushed", "rubbish"))
        self.history.record(Happened(self.universe.time, "broker", fault))
        if fault == "away":
            self.away_until = self.universe.time + self.random.choice((0.3, 3.0, 12.0))
        elif fault == "flushed":
            self._messages.clear()
            self._unacknowledged.clear()
        else:
            self._arrive("work/default", _RUBBISH)
        self._next_fault()


class SimulatedBroker:
    """The `Broker` port of one process."""

    def __init__(self, server: SimulatedServer, process: Process) -> None:
        self._server = server
        self.process = process
        self.arrivals = Inbox()

    @property
    def connection(self) -> Connection:
        """How it stands."""
        return Connection(url="simulated", up=self._server.up, since=START)

    async def publish(self, topic: str, messages: Sequence[Message]) -> bool:
        """Over the network, where a call or its answer may be lost."""
        self.process.check()
        trip = self._server.weather.trip()
        reached = self._server.up and trip.arrives is not None
        if reached:
            for message in messages:
                self._server.accept(topic, message.body)
        await asyncio.sleep(self._server.weather.latency() if trip.answer is not None else trip.gives_up)
        return reached and trip.answer is not None

    async def receive(self, topics: Sequence[str], limit: int, wait: timedelta) -> Sequence[Delivery]:
        """What is there, or comes in time; what is lost on the way back comes again."""
        self.process.check()
        end = self._server.universe.time + wait.total_seconds()
        while self._server.up:
            deliveries = self._server.give_out(topics, limit)
            if deliveries:
                lost = self._server.weather.trip().answer is None
                await asyncio.sleep(self._server.weather.latency())
                return () if lost else deliveries
            left = end - self._server.universe.time
            if left <= 0 or not await self.arrivals.wait(topics, timedelta(seconds=left)):
                break
        return ()

    async def acknowledge(self, deliveries: Sequence[Delivery]) -> None:
        """Noted for the judge; it may be lost like everything else."""
        self.process.check()
        universe = self._server.universe
        tickets = tuple(read(each.body) for each in deliveries if each.body != _RUBBISH)
        now = START + timedelta(seconds=universe.time)
        self._server.history.record(
            Applied(universe.time, now, self.process.label, "broker.acknowledge", (tickets,), None, universe.time)
        )
        if self._server.weather.trip().arrives is not None:
            self._server.forget(deliveries)
        await asyncio.sleep(self._server.weather.latency())
