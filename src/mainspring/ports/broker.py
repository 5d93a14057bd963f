"""Transport beside the store. It may lose, repeat, delay and reorder: the only cost is time, or a refused duplicate.

Nothing here raises for a broker that is away: whoever uses one goes on by the store alone meanwhile.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Protocol
from uuid import UUID


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """Something to carry, and what a broker may sort it by."""

    key: UUID
    """What the message is about: brokers that keep any order keep it per key."""
    body: bytes
    priority: int
    """From 0 to 100, the higher the sooner; exactly so, or in a few bands."""
    due_at: datetime
    """Of equal priority, the earlier the sooner, where a broker can tell."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Delivery:
    """A message that has come."""

    topic: str
    body: bytes
    receipt: object = None
    """The broker's own mark of this delivery, if it wants one back with the acknowledgement."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Connection:
    """How it stands with a broker, for those who look."""

    url: str
    """As it may be shown to anybody."""
    up: bool
    since: datetime
    """Since when that is so, by this process's clock."""
    error: str = ""
    """What the last failure was, be it over or not; empty if there was none."""


class Broker(Protocol):
    """Topics come into being by being used. One instance serves one process; any number of its parts may call it."""

    @property
    def connection(self) -> Connection:
        """How it stands. While it isn't up, the verbs return at once, and the broker looks for its server itself."""
        ...

    async def publish(self, topic: str, messages: Sequence[Message]) -> bool:
        """Hand *messages* over in bounded time; whether all of them are with the broker, as far as is known."""
        ...

    async def receive(self, topics: Sequence[str], limit: int, wait: timedelta) -> Sequence[Delivery]:
        """At most *limit* messages of *topics*, the best first within a topic, as soon as there is one.

        Nothing after *wait*, or at once while the broker isn't up. Only what was received is taken from others, so
        that a caller that is full calls for nothing; one that is cancelled may have lost what was on its way.
        """
        ...

    async def acknowledge(self, deliveries: Sequence[Delivery]) -> None:
        """Say that these needn't be delivered again, in bounded time; what isn't acknowledged may be."""
        ...
