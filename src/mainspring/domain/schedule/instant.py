"""Instants in the form of RFC 3339, where the offset is not optional: a bare local time could mean any instant."""

import re
from calendar import monthrange
from datetime import UTC, datetime, timedelta, timezone

from mainspring.domain.schedule.span import Span

_EXAMPLE = "2030-01-31T09:00:00Z"
_LOOKS_LIKE_AN_INSTANT = re.compile(r"[0-9]{4}-[0-9]")
_INSTANT = re.compile(
    r"(?P<year>[0-9]{4})-(?P<month>[0-9]{2})-(?P<day>[0-9]{2})"
    r"(?:(?:t|\s+)(?P<hour>[0-9]{2}):(?P<minute>[0-9]{2}):(?P<second>[0-9]{2})(?:\.(?P<fraction>[0-9]+))?"
    r"(?:z|(?P<sign>[+-])(?P<offset_hour>[0-9]{2}):(?P<offset_minute>[0-9]{2}))?)?",
    re.IGNORECASE,
)
_RANGES = {
    "year": range(1, 10_000),
    "month": range(1, 13),
    "hour": range(24),
    "minute": range(60),
    "second": range(60),
    "offset_hour": range(24),
    "offset_minute": range(60),
}


def looks_like_an_instant(text: str) -> bool:
    """True for anything that begins as a date, even a wrong one: no other schedule does."""
    return _LOOKS_LIKE_AN_INSTANT.match(text) is not None


def parse_instant(span: Span) -> datetime:
    """The instant in UTC, cut to microseconds; raise InvalidSchedule at the first part that is wrong."""
    found = _INSTANT.fullmatch(str(span))
    if found is None:
        raise span.fault(f"{str(span)!r} isn't an RFC 3339 instant; write one like {_EXAMPLE}")
    if found["hour"] is None:
        raise span.fault(f"{span} is a date without a time; write an instant like {_EXAMPLE}")
    _check_ranges(span, found)
    if not found["sign"] and found[0][-1] not in "zZ":
        raise span.fault(f"{span} doesn't say in which zone; add Z for UTC or an offset like +02:00")
    try:
        return _build(found)
    except OverflowError:
        raise span.fault(f"{span} lies outside the years 1 to 9999 in UTC") from None


def _check_ranges(span: Span, found: re.Match[str]) -> None:
    if found["second"] == "60":
        raise span.cut(*found.span("second")).fault(
            "leap seconds (:60) can't be scheduled; use :59, or :00 of the next minute"
        )
    for name, allowed in _RANGES.items():
        if found[name] is not None and int(found[name]) not in allowed:
            raise span.cut(*found.span(name)).fault(
                f"{name.replace('_', ' ')} {found[name]} is out of range {allowed[0]}\N{EN DASH}{allowed[-1]}"
            )
    longest = monthrange(int(found["year"]), int(found["month"]))[1]
    if not 1 <= int(found["day"]) <= longest:
        raise span.cut(*found.span("day")).fault(
            f"day {found['day']} is out of range: {found['year']}-{found['month']} has days 1\N{EN DASH}{longest}"
        )


def _build(found: re.Match[str]) -> datetime:
    offset = timedelta(hours=int(found["offset_hour"] or 0), minutes=int(found["offset_minute"] or 0))
    return datetime(
        int(found["year"]),
        int(found["month"]),
        int(found["day"]),
        int(found["hour"]),
        int(found["minute"]),
        int(found["second"]),
        int((found["fraction"] or "0")[:6].ljust(6, "0")),
        tzinfo=timezone(-offset if found["sign"] == "-" else offset),
    ).astimezone(UTC)


def format_instant(instant: datetime) -> str:
    """The instant as RFC 3339 text with Z."""
    return instant.isoformat().removesuffix("+00:00") + "Z"
