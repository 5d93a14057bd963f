"""Cron against brute force, which looks at a clock tick by tick, and against what peers answered.

Nothing here parses a schedule: expressions are drawn together with the values that they stand for. What peers answered
is in `cron/peers.json`, three fire times of each expression or null where one refuses it. Where an answer differs from
ours, its reason is one of those that the page about time explains to whoever moves a schedule here.
"""

import json
from bisect import bisect_left, bisect_right
from calendar import monthrange
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from itertools import islice
from pathlib import Path
from random import Random
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from mainspring.domain.schedule import Cron, DaylightSaving, Fold, Gap, parse
from mainspring.errors import InvalidSchedule

SECOND, MINUTE, HOUR, DAY = (timedelta(**{unit: 1}) for unit in ("seconds", "minutes", "hours", "days"))
MOST = 200
"""Fire times of one expression that are compared, from a tick on that is drawn."""

# What the clocks do there: forward and back by an hour, half an hour, two hours, at midnight, by a whole day, the other
# way round; and nothing at all.
PLACES = [
    ("Europe/Berlin", datetime(2026, 3, 29, 1, tzinfo=UTC)),
    ("Europe/Berlin", datetime(2026, 10, 25, 1, tzinfo=UTC)),
    ("America/New_York", datetime(2027, 3, 14, 7, tzinfo=UTC)),
    ("America/New_York", datetime(2027, 11, 7, 6, tzinfo=UTC)),
    ("Australia/Lord_Howe", datetime(2026, 10, 3, 15, 30, tzinfo=UTC)),
    ("Australia/Lord_Howe", datetime(2026, 4, 4, 15, tzinfo=UTC)),
    ("Antarctica/Troll", datetime(2026, 3, 29, 1, tzinfo=UTC)),
    ("Antarctica/Troll", datetime(2026, 10, 25, 1, tzinfo=UTC)),
    ("America/Havana", datetime(2026, 3, 8, 5, tzinfo=UTC)),
    ("America/Havana", datetime(2026, 11, 1, 5, tzinfo=UTC)),
    ("Asia/Beirut", datetime(2026, 3, 28, 22, tzinfo=UTC)),
    ("Africa/Casablanca", datetime(2026, 2, 15, 2, tzinfo=UTC)),
    ("Europe/Dublin", datetime(2026, 10, 25, 1, tzinfo=UTC)),
    ("Pacific/Apia", datetime(2011, 12, 30, 10, tzinfo=UTC)),
    ("Asia/Kolkata", datetime(2028, 2, 29, 18, tzinfo=UTC)),
    ("UTC", datetime(2027, 12, 31, 23, tzinfo=UTC)),
]
POLICIES = [DaylightSaving(gap=gap, fold=fold) for gap in Gap for fold in Fold]
PEERS = json.loads((Path(__file__).parent / "cron" / "peers.json").read_text("utf-8"))
PAGE = Path(__file__).parents[2] / "docs" / "explanation" / "time.md"

Days = Callable[[datetime], bool]


@dataclass(frozen=True, slots=True)
class Tick:
    """An instant, and what a clock on the wall shows."""

    instant: datetime
    shown: datetime
    again: bool
    """Whether it has shown that before."""
    left_out: tuple[datetime, ...]
    """What it has jumped over to get there."""


@dataclass(frozen=True, slots=True)
class Drawn:
    """An expression and what it stands for."""

    text: str
    seconds: frozenset[int]
    minutes: frozenset[int]
    hours: frozenset[int]
    days: Days

    def matches(self, shown: datetime) -> bool:
        return (
            shown.second in self.seconds
            and shown.minute in self.minutes
            and shown.hour in self.hours
            and self.days(shown)
        )

    def fires(self, tick: Tick, policy: DaylightSaving) -> bool:
        every_hour = len(self.hours) == 24
        if self.matches(tick.shown) and (every_hour or policy.fold is Fold.BOTH or not tick.again):
            return True
        return not every_hour and policy.gap is Gap.NEXT_VALID and any(map(self.matches, tick.left_out))


@lru_cache(maxsize=1)
def clock(zone: str, start: datetime, end: datetime, each: timedelta) -> list[Tick]:
    """Every tick of a clock on the wall from one instant to another."""
    ticks: list[Tick] = []
    instant = start
    latest: datetime | None = None
    while instant < end:
        shown = instant.astimezone(ZoneInfo(zone)).replace(tzinfo=None, fold=0)
        left_out: list[datetime] = []
        if latest is not None:
            jumped = latest + each
            while jumped < shown:
                left_out.append(jumped)
                jumped += each
        ticks.append(Tick(instant, shown, latest is not None and shown <= latest, tuple(left_out)))
        latest = shown if latest is None else max(latest, shown)
        instant += each
    return ticks


def items(random: Random, low: int, high: int) -> tuple[str, frozenset[int]]:
    """A list of items of a field."""
    texts: list[str] = []
    values: set[int] = set()
    for _ in range(random.choice((1, 1, 1, 2, 3))):
        first, last = sorted(random.sample(range(low, high + 1), 2))
        step = random.randint(1, max(1, (high - low) // 2))
        text, found = random.choice(
            (
                (str(first), range(first, first + 1)),
                (f"{first:02}", range(first, first + 1)),
                (f"{first}-{last}", range(first, last + 1)),
                (f"{first}-{last}/{step}", range(first, last + 1, step)),
                (f"{first}/{step}", range(first, high + 1, step)),
                (f"*/{step}", range(low, high + 1, step)),
            )
        )
        texts.append(text)
        values.update(found)
    return ",".join(texts), frozenset(values)


def field(random: Random, low: int, high: int, free: float) -> tuple[str, frozenset[int]]:
    return ("*", frozenset(range(low, high + 1))) if random.random() < free else items(random, low, high)


def days_of_month(random: Random, free: float) -> tuple[str, Days]:
    if free < 1 and random.random() < 0.2:
        return random.choice(
            (
                ("L", lambda day: day.day == monthrange(day.year, day.month)[1]),
                ("LW", lambda day: day.day == last_weekday(day)),
                ("15,L", lambda day: day.day in (15, monthrange(day.year, day.month)[1])),
            )
        )
    text, values = field(random, 1, 31, free)
    return text, lambda day: day.day in values


def days_of_week(random: Random, free: float) -> tuple[str, Days]:
    weekday = random.randint(0, 7)
    if free < 1 and random.random() < 0.2:
        number = random.randint(1, 5)
        return random.choice(
            (
                (f"{weekday}#{number}", lambda day: of_week(day) == weekday % 7 and (day.day + 6) // 7 == number),
                (f"{weekday}L", lambda day: of_week(day) == weekday % 7 and (day + 7 * DAY).month != day.month),
            )
        )
    text, values = field(random, 0, 7, free)
    return text, lambda day: of_week(day) in {value % 7 for value in values}


def of_week(day: datetime) -> int:
    return day.isoweekday() % 7


def last_weekday(day: datetime) -> int:
    last = day.replace(day=monthrange(day.year, day.month)[1])
    while last.isoweekday() > 5:
        last -= DAY
    return last.day


def drawn(random: Random, *, with_seconds: bool = False, free: float = 0.7) -> Drawn:
    """An expression; *free* is how likely each field of the date says nothing."""
    second = items(random, 0, 59) if with_seconds else ("", frozenset({0}))
    minute, hour = field(random, 0, 59, 0.2), field(random, 0, 23, 0.3)
    month, months = field(random, 1, 12, max(free, 0.5))
    date, on_date = days_of_month(random, free)
    weekday, on_weekday = days_of_week(random, free)
    both = date.startswith("*") or weekday.startswith("*")

    def on(day: datetime) -> bool:
        fits = (on_date(day), on_weekday(day))
        return day.month in months and (all(fits) if both else any(fits))

    text = f"{second[0]} {minute[0]} {hour[0]} {date} {month} {weekday}".strip()
    return Drawn(text, second[1], minute[1], hour[1], on)


def compare(random: Random, expression: Drawn, zone: str, ticks: list[Tick]) -> int:
    """Ask our calendar for what the clock shows, in both directions, and say how many fire times were compared."""
    policy = random.choice(POLICIES)
    fires = [tick.instant for tick in ticks if expression.fires(tick, policy)]
    what = f"{expression.text!r} in {zone} with {policy}"
    cron = accepted(expression.text, zone, policy)
    if cron is None:
        assert not fires, what
        return 0
    middle = ticks[len(ticks) // 2 - 150 :][:300]
    for tick in (*random.sample(ticks, 3), *random.sample(middle, 15)):
        place = bisect_left(fires, tick.instant)
        if place > 0:
            assert cron.previous(tick.instant, anchor=tick.instant) == fires[place - 1], f"{what} before {tick.instant}"
        place = bisect_right(fires, tick.instant)
        if place < len(fires):
            assert cron.next(tick.instant, anchor=tick.instant) == fires[place], f"{what} after {tick.instant}"
    start, end = ticks[0].instant, ticks[-1].instant
    if len(fires) > MOST:
        begin = random.randrange(len(fires) - MOST)
        fires = fires[begin : begin + MOST]
        start, end = fires[0], fires[-1]
    assert list(until(cron, start, end)) == fires, what
    assert list(back(cron, end, start)) == fires[::-1], what
    assert cron.count(start, end, anchor=start, limit=MOST) == len(fires), what
    return len(fires)


def accepted(text: str, zone: str, policy: DaylightSaving | None = None) -> Cron | None:
    """What we make of an expression; None if we refuse it."""
    try:
        cron = parse(text, timezone=zone, dst=policy or DaylightSaving())
    except InvalidSchedule:
        return None
    assert isinstance(cron, Cron)
    return cron


def until(cron: Cron, start: datetime, end: datetime) -> Iterator[datetime]:
    fire_time = cron.next(start - SECOND, anchor=start)
    while fire_time is not None and fire_time <= end:
        yield fire_time
        fire_time = cron.next(fire_time, anchor=start)


def back(cron: Cron, end: datetime, start: datetime) -> Iterator[datetime]:
    fire_time = cron.previous(end + SECOND, anchor=start)
    while fire_time is not None and fire_time >= start:
        yield fire_time
        fire_time = cron.previous(fire_time, anchor=start)


def minute_by_minute(zone: str, jump: datetime, expressions: int) -> int:
    random = Random(f"{zone} {jump}")
    ticks = clock(zone, jump - 2 * DAY, jump + 2 * DAY, MINUTE)
    return sum(compare(random, drawn(random, free=random.choice((0.7, 1))), zone, ticks) for _ in range(expressions))


def second_by_second(zone: str, jump: datetime, expressions: int) -> int:
    random = Random(f"{zone} {jump} in seconds")
    ticks = clock(zone, jump - 2 * HOUR, jump + 3 * HOUR, SECOND)
    return sum(compare(random, drawn(random, with_seconds=True, free=1), zone, ticks) for _ in range(expressions))


def day_by_day(years: int, expressions: int) -> int:
    """By a clock that shows nothing but noon, over years with and without a 29 February."""
    random = Random(years)
    ticks = clock("UTC", datetime(2096, 1, 1, 12, tzinfo=UTC), datetime(2096 + years, 1, 1, tzinfo=UTC), DAY)
    count = 0
    for _ in range(expressions):
        date = drawn(random, free=0.3)
        fields = " ".join(date.text.split()[-3:])
        noon = Drawn(f"0 12 {fields}", frozenset({0}), frozenset({0}), frozenset({12}), date.days)
        count += compare(random, noon, "UTC", ticks)
    return count


@pytest.mark.parametrize(("zone", "jump"), PLACES)
def test_fire_times_are_what_a_clock_shows_minute_by_minute(zone: str, jump: datetime) -> None:
    assert minute_by_minute(zone, jump, 20) + second_by_second(zone, jump, 3) > 100


def test_fire_times_are_what_a_calendar_shows_day_by_day() -> None:
    assert day_by_day(10, 50) > 300


@pytest.mark.chaos
@pytest.mark.parametrize(("zone", "jump"), PLACES)
def test_fire_times_are_what_a_clock_shows_minute_by_minute_for_very_many_expressions(
    zone: str, jump: datetime
) -> None:
    assert minute_by_minute(zone, jump, 1_000) + second_by_second(zone, jump, 100) > 20_000


@pytest.mark.chaos
def test_fire_times_are_what_a_calendar_shows_day_by_day_for_very_many_expressions() -> None:
    assert day_by_day(28, 2_000) > 50_000


def ours(case: dict[str, Any]) -> list[str] | None:
    """Three fire times as peers gave them, or None where we refuse the expression."""
    after = datetime.fromisoformat(case["after"])
    cron = accepted(case["expression"], case["zone"])
    if cron is None:
        return None
    return [f"{each:%Y-%m-%dT%H:%M:%SZ}" for each in islice(until(cron, after + SECOND, after + 36_525 * DAY), 3)]


def name(case: dict[str, Any]) -> str:
    return f"{case['expression']} {case['zone']} {case['after']}"


@pytest.mark.parametrize("peer", PEERS["peers"])
def test_peers_answer_the_same_but_for_the_differences_that_are_explained(peer: str) -> None:
    for case in PEERS["cases"]:
        if peer in case["answers"]:
            differs = case["answers"][peer] != ours(case)
            assert differs == (peer in case.get("differences", {})), f"{peer}: {name(case)}"


def test_each_difference_from_a_peer_is_explained() -> None:
    reasons = {reason for case in PEERS["cases"] for reason in case.get("differences", {}).values()}
    explained = {line.split("|")[1].strip() for line in PAGE.read_text("utf-8").splitlines() if line.startswith("| ")}
    assert reasons <= explained
