"""Tells workers of an addition by the very transaction that stores it, while all is calm.

A signal of its own takes another round trip, for which an idle worker waits. But a transaction that notifies has a lock
of the whole server while it is being written to disk: of additions in quick succession only the first may have it, and
the others are told of as everything else is.
"""

import asyncio
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from mainspring.adapters.exchange import SEPARATOR
from mainspring.ports.signals import Notice

CALM = 0.005
"""Seconds without an addition after which the next one notifies by itself."""
_MOST_TOPICS = 1000


class PostgresHerald:
    """The Herald port for one process. *sender* is the name by which its listener knows what came from here."""

    def __init__(self, channel: str, sender: str) -> None:
        self._channel = channel
        self._sender = sender
        self._busy_until: dict[str, float] = {}
        self._told_at: dict[str, float] = {}

    @contextmanager
    def announcing(self, topics: Sequence[str]) -> Iterator[Notice | None]:
        """A notice if *topics* is one topic that has been calm; it counts as sent once the block has ended well."""
        if len(topics) != 1 or not self._is_calm(topics[0]):
            yield None
            return
        yield Notice(channel=self._channel, payload=f"{self._sender}{SEPARATOR}{topics[0]}")
        self._told_at[topics[0]] = _now()

    def untold(self, topics: Sequence[str]) -> Sequence[str]:
        """Those of *topics* that weren't sent by a transaction a moment ago; each spares one signal."""
        since = _now() - CALM
        return [topic for topic in topics if self._told_at.pop(topic, -1.0) < since]

    def _is_calm(self, topic: str) -> bool:
        now = _now()
        calm = now >= self._busy_until.pop(topic, now)
        if len(self._busy_until) >= _MOST_TOPICS:
            del self._busy_until[next(iter(self._busy_until))]
        self._busy_until[topic] = now + CALM
        return calm


def _now() -> float:
    return asyncio.get_running_loop().time()
