"""The one schedule grammar.

    now                            run at once; no text at all means the same
    on-demand                      only when triggered
    2030-01-31T09:00:00+02:00      at an RFC 3339 instant
    in 1h30m                       after a delay (ms, s, m, h, d, w; fractions as in 1.5s)
    @every 90s                     again and again, counted from the job's anchor
    30 9 * * MON-FRI               cron: minute, hour, day of month, month, day of week
    */10 * * * * *                 cron with seconds first
    @hourly @daily @midnight @weekly @monthly @yearly @annually

Keywords and names may be in upper or lower case, and white space around or between the words doesn't matter.
"""

from datetime import UTC, datetime
from difflib import get_close_matches
from functools import lru_cache

from mainspring.domain.schedule.cron import Cron
from mainspring.domain.schedule.daylight import DaylightSaving
from mainspring.domain.schedule.duration import parse_duration
from mainspring.domain.schedule.every import Every
from mainspring.domain.schedule.fields import FIVE, SIX
from mainspring.domain.schedule.instant import looks_like_an_instant, parse_instant
from mainspring.domain.schedule.local_calendar import has_days
from mainspring.domain.schedule.once import After, At, Now, OnDemand
from mainspring.domain.schedule.span import Span
from mainspring.domain.schedule.zones import check_zone
from mainspring.errors import InvalidSchedule

Recurring = Cron | Every
Schedule = Now | OnDemand | At | After | Recurring

LONGEST_TEXT = 500
"""Characters of a schedule."""

_KEYWORDS: dict[str, Now | OnDemand] = {"now": Now(), "on-demand": OnDemand()}
_NICKNAMES = {
    "@hourly": "0 * * * *",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@weekly": "0 0 * * 0",
    "@monthly": "0 0 1 * *",
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
}
_FORMS = "now, on-demand, an instant like 2030-01-31T09:00:00Z, in 10s, @every 5m, @daily, or cron like 0 9 * * MON-FRI"
# Late enough for the lasting rules of every zone to hold, so that "always in a gap" is found.
_REFERENCE = datetime(2040, 1, 1, tzinfo=UTC)
_DEFAULT = DaylightSaving()


def parse(text: str | None, *, timezone: str = "UTC", dst: DaylightSaving = _DEFAULT) -> Schedule:
    """The schedule that *text* means; raise InvalidSchedule whose message, part and position point at what is wrong."""
    if text is not None and len(text) > LONGEST_TEXT:
        raise InvalidSchedule(
            f"a schedule has at most {LONGEST_TEXT} characters", text=text[:LONGEST_TEXT], position=LONGEST_TEXT
        )
    return _parse("now" if text is None else text, timezone, dst)


@lru_cache(maxsize=4096)
def _parse(text: str, timezone: str, dst: DaylightSaving) -> Schedule:
    check_zone(timezone)
    start = len(text) - len(text.lstrip())
    whole = Span(text, start, start + len(text.strip()))
    if keyword := _KEYWORDS.get(str(whole).lower()):
        return keyword
    words = whole.words()
    if not words:
        raise whole.fault(f"the schedule is empty; write {_FORMS}")
    match str(words[0]).lower():
        case "in":
            return After(parse_duration(_argument(words, "in 10s"), fractions=True))
        case "@every":
            return _every(_argument(words, "@every 5m"))
        case nickname if nickname.startswith("@"):
            return Cron(_nickname(whole), timezone, dst)
        case date if looks_like_an_instant(date):
            return At(parse_instant(whole))
        case _:
            return _cron(whole, words, timezone, dst)


def _argument(words: list[Span], example: str) -> Span:
    keyword, *rest = words
    if not rest:
        raise keyword.fault(f"{keyword} needs a duration; write {example}")
    return Span(keyword.text, rest[0].start, rest[-1].end)


def _every(argument: Span) -> Every:
    period = parse_duration(argument)
    if not period:
        raise argument.fault("the period must be at least 1s")
    return Every(period)


def _nickname(whole: Span) -> str:
    known = _NICKNAMES.get(str(whole).lower())
    if known is None:
        close = get_close_matches(str(whole).lower(), [*_NICKNAMES, "@every"], n=1)
        advice = f"did you mean {close[0]}?" if close else f"use @every 5m or one of {' '.join(_NICKNAMES)}"
        raise whole.fault(f"{str(whole)!r} is unknown; {advice}")
    return known


def _cron(whole: Span, words: list[Span], timezone: str, dst: DaylightSaving) -> Cron:
    if len(words) not in (len(FIVE), len(SIX)):
        raise whole.fault(_count_message(whole, words))
    fields = FIVE if len(words) == len(FIVE) else SIX
    text = " ".join(field.canonical(word) for field, word in zip(fields, words, strict=True))
    cron = Cron(text, timezone, dst)
    if not has_days(text):
        days = Span(whole.text, words[-3].start, words[-1].end)
        raise days.fault(f"never fires: no year has a day that matches {str(days)!r}")
    if cron.next(_REFERENCE, anchor=_REFERENCE) is None:
        raise whole.fault(
            f"never fires: its local times are always skipped by the clocks of {timezone}; use gap next_valid"
        )
    return cron


def _count_message(whole: Span, words: list[Span]) -> str:
    if len(words) > 1 and not str(words[0]).isalpha():
        return f"cron has 5 fields, or 6 with seconds first, but here are {len(words)}"
    return f"{str(whole)!r} isn't a schedule; write {_FORMS}"
