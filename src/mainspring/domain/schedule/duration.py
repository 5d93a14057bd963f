"""Durations as people write them: `90s`, `1h30m`, `2w`. Whole numbers, largest unit first, each unit once."""

import re
from datetime import timedelta

from mainspring.domain.schedule.span import Span

UNITS = {"w": 604_800, "d": 86_400, "h": 3_600, "m": 60, "s": 1}
LONGEST = timedelta(days=36_525)
"""A hundred years: far enough for any schedule, and safe from overflow when added to an instant of our time."""

_ITEM = re.compile(r"\s*(?P<number>[0-9][0-9.]*)\s*(?P<unit>[a-z]*)", re.IGNORECASE)


def parse_duration(span: Span) -> timedelta:
    """The duration written in *span*; raise InvalidSchedule at the first item that is wrong."""
    text = str(span)
    seconds, largest, position = 0, "", 0
    while position < len(text):
        item = _ITEM.match(text, position)
        if item is None:
            raise span.cut(position, len(text)).fault(
                f"{text[position:]!r} isn't a duration; write one like 90s or 1h30m"
            )
        number, unit = span.cut(*item.span("number")), span.cut(*item.span("unit"))
        seconds += _whole(number) * _unit(number, unit, after=largest)
        largest, position = str(unit).lower(), item.end()
    if seconds > LONGEST.total_seconds():
        raise span.fault(f"{text!r} is longer than 100 years")
    return timedelta(seconds=seconds)


def _whole(number: Span) -> int:
    if "." in str(number):
        raise number.fault(f"{number} isn't a whole number; combine units instead, as in 1h30m")
    return int(str(number))


def _unit(number: Span, unit: Span, *, after: str) -> int:
    name = str(unit).lower()
    if not name:
        raise number.fault(f"{number} needs a unit: s, m, h, d or w")
    if name not in UNITS:
        raise unit.fault(f"the unit {str(unit)!r} is unknown; use s, m, h, d or w")
    if after and UNITS[name] >= UNITS[after]:
        raise unit.fault(f"{name} can't follow {after}: units go from the largest to the smallest, each once")
    return UNITS[name]


def format_duration(duration: timedelta) -> str:
    """The shortest text that parses to *duration*, a whole number of seconds."""
    remainder, items = int(duration.total_seconds()), []
    for unit, seconds in UNITS.items():
        number, remainder = divmod(remainder, seconds)
        if number:
            items.append(f"{number}{unit}")
    return "".join(items) or "0s"
