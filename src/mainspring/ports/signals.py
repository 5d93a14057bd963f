"""Wake-ups between processes. A signal is a hint: losing one costs a poll interval, never a job."""

from collections.abc import Sequence
from datetime import timedelta
from typing import Protocol

from mainspring.domain.ids import Lane, SessionId

TIMETABLE = "timetable"
"""A standing job was added or changed."""


def lane_topic(lane: Lane) -> str:
    """The topic that says that a lane has work."""
    return f"work/{lane}"


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
