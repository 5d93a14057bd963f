"""Durations as people write them: `90s`, `1h30m`, `2w`. Largest unit first, each unit once.

A delay may also have fractions and milliseconds, `1.5s` or `500ms`; a period is whole seconds.
"""

import re
from datetime import timedelta

from mainspring.domain.schedule.span import Span

UNITS = {"w": 604_800, "d": 86_400, "h": 3_600, "m": 60, "s": 1}
LONGEST = timedelta(days=36_525)
"""A hundred years: far enough for any schedule, and safe from overflow when added to an instant of our time."""

_MICROSECONDS = {**{unit: seconds * 1_000_000 for unit, seconds in UNITS.items()}, "ms": 1_000}
_MOST = LONGEST // timedelta.resolution
_ITEM = re.compile(r"\s*(?P<number>[0-9][0-9.]*)\s*(?P<unit>[a-z]*)", re.IGNORECASE)
_DECIMAL = re.compile(r"(?P<whole>[0-9]+)(?:\.(?P<fraction>[0-9]+))?")


def parse_duration(span: Span, *, fractions: bool = False) -> timedelta:
    """The duration written in *span*, cut to microseconds; raise InvalidSchedule at the first item that is wrong.

    Unless *fractions* are allowed, it is a whole number of seconds.
    """
    text = str(span)
    microseconds, largest, position = 0, "", 0
    while position < len(text):
        item = _ITEM.match(text, position)
        if item is None:
            raise span.cut(position, len(text)).fault(
                f"{text[position:]!r} isn't a duration; write one like 90s or 1h30m"
            )
        number, unit = span.cut(*item.span("number")), span.cut(*item.span("unit"))
        size = _unit(number, unit, after=largest, fractions=fractions)
        microseconds += _amount(number, size, fractions=fractions)
        largest, position = str(unit).lower(), item.end()
    if microseconds > _MOST:
        raise span.fault(f"{text!r} is longer than 100 years")
    return timedelta(microseconds=microseconds)


def _amount(number: Span, size: int, *, fractions: bool) -> int:
    if not fractions and "." in str(number):
        raise number.fault(f"{number} isn't a whole number; combine units instead, as in 1h30m")
    found = _DECIMAL.fullmatch(str(number))
    if found is None:
        raise number.fault(f"{number} isn't a number; write one like 1.5")
    # In integers: a float would round what is exact in writing.
    digits = found["fraction"] or ""
    return int(found["whole"] + digits) * size // int("1" + "0" * len(digits))


def _unit(number: Span, unit: Span, *, after: str, fractions: bool) -> int:
    name, known = str(unit).lower(), "ms, s, m, h, d or w" if fractions else "s, m, h, d or w"
    if not name:
        raise number.fault(f"{number} needs a unit: {known}")
    if name not in _MICROSECONDS or (name == "ms" and not fractions):
        raise unit.fault(f"the unit {str(unit)!r} is unknown; use {known}")
    if after and _MICROSECONDS[name] >= _MICROSECONDS[after]:
        raise unit.fault(f"{name} can't follow {after}: units go from the largest to the smallest, each once")
    return _MICROSECONDS[name]


def format_duration(duration: timedelta) -> str:
    """The shortest text in whole units and seconds that parses to *duration*."""
    remainder, items = duration // timedelta(seconds=1), []
    fraction = f"{duration.microseconds:06}".rstrip("0")
    for unit, seconds in UNITS.items():
        number, remainder = divmod(remainder, seconds)
        point = f".{fraction}" if fraction and unit == "s" else ""
        if number or point:
            items.append(f"{number}{point}{unit}")
    return "".join(items) or "0s"
