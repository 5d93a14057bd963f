"""Signals that a lane has work, sent by way of a broker: due runs get tickets, and whoever is free receives them.

Everybody who would wake a lane's workers publishes instead, and needn't know. A lane of which nothing could be
published is signalled as ever: its work is due later, or the broker is away, and then it is claimed.
"""

import asyncio
from collections.abc import Sequence
from datetime import timedelta

from mainspring.domain.ids import Lane
from mainspring.domain.ticket import Ticket, written
from mainspring.errors import StoreError
from mainspring.logs import get_logger
from mainspring.ports.broker import Broker, Message
from mainspring.ports.signals import Signals, lane_of, lane_topic
from mainspring.ports.tickets import GRACE, Tickets
from mainspring.ports.time import Clock

BATCH = 500
MOST_BATCHES = 20
"""In a row; whoever looks after the lane sees what is left."""
SLOW = 0.05
REST = 9
"""A store that takes longer than so many seconds to find nothing new, among all that waits for workers to come free,
isn't asked again for as many times as long."""

_log = get_logger(__name__)


class Publisher:
    """`Signals` whose lanes are woken through a broker, as far as that is possible."""

    def __init__(self, signals: Signals, tickets: Tickets, broker: Broker, clock: Clock) -> None:
        self._signals = signals
        self._tickets = tickets
        self._broker = broker
        self._clock = clock
        self._rests_until = float("-inf")
        self._asked: dict[Lane, None] = {}
        self._turn = asyncio.Lock()

    async def notify(self, topics: Sequence[str]) -> None:
        """Publish what is due in the lanes among *topics*; signal the other topics, and lanes of which nothing was."""
        lanes = [lane for topic in topics if (lane := lane_of(topic)) is not None]
        if not lanes or not self._broker.connection.up or self._clock.monotonic() < self._rests_until:
            await self._signals.notify(topics)
            return
        self._asked.update(dict.fromkeys(lanes))
        if others := [topic for topic in topics if lane_of(topic) is None]:
            await self._signals.notify(others)
        # What is asked for while tickets are on their way goes out together, by whoever is next.
        async with self._turn:
            asked, self._asked = [*self._asked], {}
            published = await self._publish(asked)
            if untold := [lane_topic(lane) for lane in asked if lane not in published]:
                await self._signals.notify(untold)

    async def wait(self, topics: Sequence[str], at_most: timedelta) -> bool:
        """As `Signals.wait`."""
        return await self._signals.wait(topics, at_most)

    async def _publish(self, lanes: Sequence[Lane]) -> frozenset[Lane]:
        """The lanes of which the broker has something now."""
        published: set[Lane] = set()
        for _ in range(MOST_BATCHES if lanes else 0):
            batch = await self._take(lanes)
            for lane in dict.fromkeys(ticket.lane for ticket in batch):
                messages = [_message(ticket) for ticket in batch if ticket.lane == lane]
                if not await self._broker.publish(lane_topic(lane), messages):
                    # What was taken is claimed once its grace has ended; the rest at once.
                    return frozenset(published - {lane})
                published.add(lane)
            if len(batch) < BATCH:
                break
        return frozenset(published)

    async def _take(self, lanes: Sequence[Lane]) -> Sequence[Ticket]:
        began = self._clock.monotonic()
        try:
            taken = await self._tickets.take(lanes, BATCH, GRACE)
        except StoreError as error:
            _log.warning("tickets.untaken", lanes=lanes, error=repr(error))
            return ()
        now = self._clock.monotonic()
        if not taken and now - began > SLOW:
            self._rests_until = now + REST * (now - began)
        return taken


def _message(ticket: Ticket) -> Message:
    return Message(key=ticket.run_id, body=written(ticket), priority=ticket.priority, due_at=ticket.wake_at)
