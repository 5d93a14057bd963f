"""Schedules that run a job at most once."""

from dataclasses import dataclass
from datetime import datetime, timedelta

from mainspring.domain.schedule.duration import format_duration
from mainspring.domain.schedule.instant import format_instant


@dataclass(frozen=True, slots=True)
class Now:
    """Run at once."""

    def __str__(self) -> str:
        return "now"


@dataclass(frozen=True, slots=True)
class OnDemand:
    """Never fire by itself, only when triggered."""

    def __str__(self) -> str:
        return "on-demand"


@dataclass(frozen=True, slots=True)
class At:
    """Run at an instant in UTC."""

    instant: datetime

    def __str__(self) -> str:
        return format_instant(self.instant)


@dataclass(frozen=True, slots=True)
class After:
    """Run some time after the job was submitted."""

    delay: timedelta

    def __str__(self) -> str:
        return f"in {format_duration(self.delay)}"
