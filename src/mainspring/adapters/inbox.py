"""Signals that have arrived and the waits that want them: the half of `Signals` that every transport shares."""

import asyncio
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import timedelta

from mainspring.adapters.alarm import Alarm, LoopAlarm

MAX_REMEMBERED = 1000
"""Topics that nobody waits for are forgotten, oldest first, beyond this many: a hint may be lost, memory may not."""


class Inbox:
    """One subscriber's signals. Belongs to the event loop that waits on it; only that loop may call it."""

    def __init__(self, alarm: Callable[[asyncio.AbstractEventLoop], Alarm] = LoopAlarm) -> None:
        self._arrived: dict[str, None] = {}
        self._waits: list[tuple[frozenset[str], asyncio.Future[bool]]] = []
        self._alarm = alarm
        self._idle_alarms: list[Alarm] = []
        self._closed = False

    def deliver(self, topics: Sequence[str]) -> bool:
        """Remember *topics* and wake the waits that want one of them; whether there was any."""
        self._arrived.update(dict.fromkeys(topics))
        while len(self._arrived) > MAX_REMEMBERED:
            del self._arrived[next(iter(self._arrived))]
        waits = [woken for wanted, woken in self._waits if not woken.done() and not wanted.isdisjoint(topics)]
        for woken in waits:
            woken.set_result(True)
        return bool(waits)

    async def wait(self, topics: Sequence[str], at_most: timedelta) -> bool:
        """As `Signals.wait`: what has arrived since the last wait for it counts."""
        wanted = frozenset(topics)
        if self._take(wanted):
            return True
        loop = asyncio.get_running_loop()
        woken: asyncio.Future[bool] = loop.create_future()
        entry = (wanted, woken)
        self._waits.append(entry)
        try:
            with self._lent_alarm(loop) as alarm:
                alarm.set(woken, at_most.total_seconds())
                told = await woken
        finally:
            self._waits.remove(entry)
        return self._take(wanted) or told

    def close(self) -> None:
        """Give the alarms back; those of waits under way follow."""
        self._closed = True
        while self._idle_alarms:
            self._idle_alarms.pop().close()

    @contextmanager
    def _lent_alarm(self, loop: asyncio.AbstractEventLoop) -> Iterator[Alarm]:
        """Alarms are used again: a wait is too frequent to ask the system for one each time."""
        alarm = self._idle_alarms.pop() if self._idle_alarms else self._alarm(loop)
        try:
            yield alarm
        finally:
            if self._closed:
                alarm.close()
            else:
                alarm.clear()
                self._idle_alarms.append(alarm)

    def _take(self, wanted: frozenset[str]) -> bool:
        taken = [topic for topic in self._arrived if topic in wanted]
        for topic in taken:
            del self._arrived[topic]
        return bool(taken)
