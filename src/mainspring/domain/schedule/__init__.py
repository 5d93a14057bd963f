"""When a job runs: the one schedule grammar, and the moments of recurring schedules. Pure: no clock is read here."""

from mainspring.domain.schedule.cron import Cron
from mainspring.domain.schedule.daylight import DaylightSaving, Fold, Gap
from mainspring.domain.schedule.every import Every
from mainspring.domain.schedule.grammar import LONGEST_TEXT, Recurring, Schedule, parse
from mainspring.domain.schedule.once import After, At, Now, OnDemand

__all__ = [
    "LONGEST_TEXT",
    "After",
    "At",
    "Cron",
    "DaylightSaving",
    "Every",
    "Fold",
    "Gap",
    "Now",
    "OnDemand",
    "Recurring",
    "Schedule",
    "parse",
]
