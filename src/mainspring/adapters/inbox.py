"""Signals that have arrived and the waits that want them: the half of `Signals` that every transport shares."""

import asyncio
from collections.abc import Sequence
from datetime import timedelta

MAX_REMEMBERED = 1000
"""Topics that nobody waits for are forgotten, oldest first, beyond this many: a hint may be lost, memory may not."""


class Inbox:
    """One subscriber's signals. Belongs to the event loop that waits on it; only that loop may call it."""

    def __init__(self) -> None:
        self._arrived: dict[str, None] = {}
        self._waits: list[tuple[frozenset[str], asyncio.Future[None]]] = []

    def deliver(self, topics: Sequence[str]) -> None:
        """Remember *topics* and wake the waits that want one of them."""
        self._arrived.update(dict.fromkeys(topics))
        while len(self._arrived) > MAX_REMEMBERED:
            del self._arrived[next(iter(self._arrived))]
        for wanted, woken in self._waits:
            if not woken.done() and not wanted.isdisjoint(topics):
                woken.set_result(None)

    async def wait(self, topics: Sequence[str], at_most: timedelta) -> bool:
        """As `Signals.wait`: what has arrived since the last wait for it counts."""
        wanted = frozenset(topics)
        if self._take(wanted):
            return True
        woken = asyncio.get_running_loop().create_future()
        entry = (wanted, woken)
        self._waits.append(entry)
        try:
            async with asyncio.timeout(max(at_most.total_seconds(), 0)):
                await woken
        except TimeoutError:
            return self._take(wanted)
        finally:
            self._waits.remove(entry)
        self._take(wanted)
        return True

    def _take(self, wanted: frozenset[str]) -> bool:
        taken = [topic for topic in self._arrived if topic in wanted]
        for topic in taken:
            del self._arrived[topic]
        return bool(taken)
