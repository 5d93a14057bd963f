"""Time and chance, injected: nothing in the core reads a clock or a random source directly."""

from datetime import datetime, timedelta
from typing import Protocol


class Clock(Protocol):
    """The process's own time. What is due is decided by the store's."""

    def now(self) -> datetime:
        """The wall clock, aware, in UTC; for display and for computing schedules, never for safety."""
        ...

    def monotonic(self) -> float:
        """Seconds that never go back; for measuring waits."""
        ...

    async def sleep(self, duration: timedelta) -> None:
        """Return no earlier than *duration* from now."""
        ...


class Random(Protocol):
    """A source of chance."""

    def bits(self, count: int) -> int:
        """*count* unpredictable bits."""
        ...

    def uniform(self) -> float:
        """A number in [0, 1)."""
        ...
