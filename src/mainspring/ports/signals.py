"""Wake-ups between processes. A signal is a hint: losing one costs a poll interval, never a job."""

from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from datetime import timedelta
from typing import Protocol

from mainspring.domain.ids import Lane, SessionId

TIMETABLE = "timetable"
"""A standing job was added or changed."""
SOON = timedelta(seconds=1)
"""Work that is due later than this is found by a poll or the ticker in time."""


_WORK = "work/"
_COMING = "coming/"


def lane_topic(lane: Lane) -> str:
    """The topic that says that a lane has work."""
    return f"{_WORK}{lane}"


def coming_topic(lane: Lane) -> str:
    """The topic that says that a lane is about to have work: it is on its way to the store."""
    return f"{_COMING}{lane}"


def lane_of(topic: str) -> Lane | None:
    """The lane that *topic* says to have work; None for any other topic."""
    return Lane(topic.removeprefix(_WORK)) if topic.startswith(_WORK) else None


def session_topic(session: SessionId) -> str:
    """The topic that says that something is wished of a session."""
    return f"session/{session}"


class Signals(Protocol):
    """Topics without subscribers cost nothing; a signal that nobody waits for is remembered until the next wait."""

    async def notify(self, topics: Sequence[str]) -> None:
        """Wake whoever waits for one of *topics*, in every process; never fails and never blocks for long."""
        ...

    async def wait(self, topics: Sequence[str], at_most: timedelta) -> bool:
        """Return True once one of *topics* was notified since the last wait of this instance, False after *at_most*."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Notice:
    """A signal in the words of the store that carries it."""

    channel: str
    payload: str


class Herald(Protocol):
    """Spares a signal of its own where a store carries signals itself: the transaction that adds can be the signal."""

    def announcing(self, topics: Sequence[str]) -> AbstractContextManager[Notice | None]:
        """Within the block something is stored under *topics*: together with the notice, if there is one.

        Whoever notifies the same topics right afterwards, as everybody does who adds, needn't trouble the server.
        """
        ...
