"""Time zones by name, and the edges where a zone's clocks jump."""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from difflib import get_close_matches
from functools import lru_cache
from zoneinfo import ZoneInfo, available_timezones

from mainspring.domain.schedule.span import Span

_SECOND = timedelta(seconds=1)
_LONGEST_NAME = 100


def check_zone(name: str) -> None:
    """Raise InvalidSchedule (with the zone as its text and `timezone` as its field) unless *name* is known."""
    if name == "UTC" or name in _known_zones():
        return
    error = Span(name, 0, len(name)).fault(f"the time zone {name[:_LONGEST_NAME]!r} is unknown; {_advice(name)}")
    error.field = "timezone"
    raise error


@lru_cache(maxsize=1)
def _known_zones() -> frozenset[str]:
    # "localtime" means another zone on each machine.
    return frozenset(available_timezones() - {"localtime"})


def _advice(name: str) -> str:
    by_lower_case = {zone.lower(): zone for zone in _known_zones()}
    close = get_close_matches(name[:_LONGEST_NAME].lower().replace(" ", "_"), by_lower_case, n=1)
    return f"did you mean {by_lower_case[close[0]]!r}?" if close else "use an IANA name like Europe/Berlin"


@dataclass(frozen=True, slots=True, kw_only=True)
class Edge:
    """A jump of the clocks at the instant *at*: local times in [begins, ends) are missing or occur twice."""

    at: datetime
    begins: datetime
    ends: datetime
    is_gap: bool


def to_local(instant: datetime, zone: ZoneInfo) -> datetime:
    """The naive local time of an instant; its `fold` is 1 in the second pass of a fold."""
    return instant.astimezone(zone).replace(tzinfo=None)


def to_instant(local: datetime, zone: ZoneInfo, *, fold: int = 0) -> datetime:
    """The instant of a naive local time that exists; where it occurs twice, *fold* chooses."""
    return local.replace(tzinfo=zone, fold=fold).astimezone(UTC)


def edge_around(local: datetime, zone: ZoneInfo) -> Edge | None:
    """The edge that makes a naive local time (of whole seconds) missing or ambiguous; None where it occurs once."""
    before, after = _offset(local, zone, fold=0), _offset(local, zone, fold=1)
    if before == after:
        return None
    at = _jump(local.replace(fold=0), zone, before, after)
    begins, ends = sorted(at.replace(tzinfo=None) + offset for offset in (before, after))
    return Edge(at=at, begins=begins, ends=ends, is_gap=before < after)


def _offset(local: datetime, zone: ZoneInfo, *, fold: int) -> timedelta:
    return zone.utcoffset(local.replace(fold=fold)) or timedelta(0)


def _jump(local: datetime, zone: ZoneInfo, before: timedelta, after: timedelta) -> datetime:
    """Bisect for the first instant with the new offset: zones don't tell their transitions."""
    low, high = ((local - offset).replace(tzinfo=UTC) for offset in (max(before, after), min(before, after)))
    while high - low > _SECOND:
        middle = low + (high - low) // _SECOND // 2 * _SECOND
        if middle.astimezone(zone).utcoffset() == after:
            high = middle
        else:
            low = middle
    return high
