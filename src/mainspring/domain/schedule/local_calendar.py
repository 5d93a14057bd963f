"""The local calendar of a cron expression: which naive local times match it, without any zone.

Expressions are canonical ones (see `fields`). As in Debian's cron, day of month and day of week are joined by OR if
both are restricted, and a field that begins with `*` (`*/2` as well) isn't.
"""

from calendar import isleap, monthrange
from collections.abc import Iterator
from datetime import date, datetime
from functools import lru_cache

from cronsim import CronSim, CronSimError

_HOURS_OF_A_DAY = 24
_ANY_TIME = datetime(2000, 1, 1)  # noqa: DTZ001 - local times are naive on purpose
# Each year is like one of these fourteen: common or leap, beginning on one of seven weekdays.
_KINDS_OF_YEARS = tuple({(isleap(year), date(year, 1, 1).weekday()): year for year in range(2000, 2028)}.values())


def next_match(text: str, after: datetime) -> datetime | None:
    """The first match strictly after *after* (whole seconds), or None beyond the year 9999."""
    return _first(CronSim(text, after))


def previous_match(text: str, before: datetime) -> datetime | None:
    """The last match strictly before *before* (whole seconds), or None if there is none for decades."""
    return _first(CronSim(text, before, reverse=True))


def _first(matches: CronSim) -> datetime | None:
    try:
        return next(matches, None)
    except OverflowError:
        return None


@lru_cache(maxsize=4096)
def covers_every_hour(text: str) -> bool:
    """True if all 24 hours match, however that is written: `*`, `*/1`, `0-23`."""
    return len(CronSim(text, _ANY_TIME).hours) == _HOURS_OF_A_DAY


def has_days(text: str) -> bool:
    """False if no day of any year matches, as with 30 February."""
    try:
        matches = CronSim(text, _ANY_TIME)
    except CronSimError:
        return False
    return any(matches.match_day(day) for day in _days_of_all_years(matches.months))


def _days_of_all_years(months: set[int]) -> Iterator[date]:
    for year in _KINDS_OF_YEARS:
        for month in months:
            for day in range(1, monthrange(year, month)[1] + 1):
                yield date(year, month, day)
