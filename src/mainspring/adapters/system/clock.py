"""The Clock port by the machine's own clocks."""

import asyncio
import time
from datetime import UTC, datetime, timedelta


class SystemClock:
    """Time as the machine tells it."""

    def now(self) -> datetime:
        """The wall clock, in UTC."""
        return datetime.now(UTC)

    def monotonic(self) -> float:
        """Seconds since some moment in the past."""
        return time.monotonic()

    async def sleep(self, duration: timedelta) -> None:
        """Return no earlier than *duration* from now; loops round their timers and may wake a little early."""
        until = time.monotonic() + duration.total_seconds()
        left = duration.total_seconds()
        while left > 0:
            await asyncio.sleep(left)
            left = until - time.monotonic()
