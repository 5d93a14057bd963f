"""Recurring by a fixed period, counted from an anchor so that nothing drifts."""

from dataclasses import dataclass
from datetime import datetime, timedelta

from mainspring.domain.schedule.duration import format_duration


@dataclass(frozen=True, slots=True)
class Every:
    """The moments anchor + n·period for n ≥ 1; the period is a whole number of seconds, at least one."""

    period: timedelta

    def __str__(self) -> str:
        return f"@every {format_duration(self.period)}"

    def next(self, after: datetime, *, anchor: datetime) -> datetime | None:
        """The first moment strictly after *after*; None beyond the year 9999."""
        return self._moment(max(1, (after - anchor) // self.period + 1), anchor)

    def previous(self, before: datetime, *, anchor: datetime) -> datetime | None:
        """The last moment strictly before *before*, or None if the first one isn't."""
        number = self._number(before, anchor) - 1
        return self._moment(number, anchor) if number >= 1 else None

    def count(self, first: datetime, last: datetime, *, anchor: datetime, limit: int) -> int | None:
        """How many moments lie in [first, last], or None if more than *limit*."""
        count = max(0, (last - anchor) // self.period - max(1, self._number(first, anchor)) + 1)
        return count if count <= limit else None

    def _number(self, instant: datetime, anchor: datetime) -> int:
        """The smallest n with anchor + n·period ≥ instant."""
        return -((anchor - instant) // self.period)

    def _moment(self, number: int, anchor: datetime) -> datetime | None:
        try:
            return anchor + number * self.period
        except OverflowError:
            return None
