"""A broker within one process, for tests: it loses nothing, and what is most urgent comes first."""

import asyncio
import heapq
from collections.abc import Sequence
from datetime import datetime, timedelta
from itertools import count

from mainspring.ports.broker import Connection, Delivery, Message
from mainspring.ports.time import Clock


class MemoryBroker:
    """Topics as heaps. Belongs to one event loop; any number of parts may share it."""

    def __init__(self, clock: Clock) -> None:
        self.connection = Connection(url="memory", up=True, since=clock.now())
        self._topics: dict[str, list[tuple[int, datetime, int, bytes]]] = {}
        self._numbers = count()
        self._arrivals = asyncio.Condition()
        self._turn = 0

    async def publish(self, topic: str, messages: Sequence[Message]) -> bool:
        """Sort *messages* in, and wake whoever waits."""
        waiting = self._topics.setdefault(topic, [])
        for message in messages:
            heapq.heappush(waiting, (-message.priority, message.due_at, next(self._numbers), message.body))
        async with self._arrivals:
            self._arrivals.notify_all()
        return True

    async def receive(self, topics: Sequence[str], limit: int, wait: timedelta) -> Sequence[Delivery]:
        """The first of one topic after the other that has any; another one is asked first each time."""
        try:
            async with asyncio.timeout(max(wait.total_seconds(), 0)), self._arrivals:
                while not (deliveries := self._pop(topics, limit)):
                    await self._arrivals.wait()
        except TimeoutError:
            return self._pop(topics, limit)
        return deliveries

    async def acknowledge(self, deliveries: Sequence[Delivery]) -> None:
        """Nothing to do: what was given out isn't delivered again."""

    def _pop(self, topics: Sequence[str], limit: int) -> Sequence[Delivery]:
        self._turn += 1
        first = self._turn % max(len(topics), 1)
        for topic in (*topics[first:], *topics[:first]):
            if waiting := self._topics.get(topic):
                bodies = [heapq.heappop(waiting)[-1] for _ in range(min(limit, len(waiting)))]
                return [Delivery(topic=topic, body=body) for body in bodies]
        return ()
