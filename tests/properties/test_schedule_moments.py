"""Cron moments against a brute-force oracle that walks the clocks of a zone and applies the policies word by word.

The oracle never parses: expressions are drawn as pairs of a text and the values that it stands for.
"""

from bisect import bisect_left, bisect_right
from calendar import monthrange
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from functools import lru_cache
from itertools import islice
from zoneinfo import ZoneInfo, available_timezones

from hypothesis import given, settings
from hypothesis import strategies as st

from mainspring.domain.schedule import Cron, DaylightSaving, Fold, Gap, parse
from mainspring.errors import InvalidSchedule

HOUR, MINUTE, SECOND = timedelta(hours=1), timedelta(minutes=1), timedelta(seconds=1)
MONTHS = ["JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC"]
WEEKDAYS = ["SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT"]
STARTS = st.timedeltas(min_value=-2 * HOUR, max_value=3 * HOUR)
QUARTERS = [number * timedelta(minutes=15) for number in range(-4, 13)]
POLICIES = [DaylightSaving(gap=gap, fold=fold) for gap in Gap for fold in Fold]
ENOUGH = 10  # moments to compare on each side of a start

# Years with edges of every kind: an hour, half an hour, two hours, a quarter; at midnight, by religion, a whole day.
ZONES_AND_YEARS = [
    ("Europe/Berlin", 2026),
    ("America/New_York", 2026),
    ("Australia/Lord_Howe", 2026),
    ("Pacific/Apia", 2011),
    ("Africa/Casablanca", 2026),
    ("Europe/Dublin", 2026),
    ("America/Sao_Paulo", 2018),
    ("Asia/Beirut", 2026),
    ("Africa/Cairo", 2026),
    ("Antarctica/Troll", 2026),
    ("Asia/Kathmandu", 1985),
    ("Asia/Pyongyang", 2015),
    ("America/Caracas", 2007),
    ("Pacific/Kiritimati", 1994),
]
Place = tuple[str, datetime]
QUIET_DAYS: list[Place] = [
    ("UTC", datetime(2028, 2, 29, tzinfo=UTC)),
    ("UTC", datetime(2027, 1, 1, tzinfo=UTC)),
    ("Pacific/Kiritimati", datetime(2028, 2, 29, tzinfo=UTC)),
    ("Asia/Kathmandu", datetime(2026, 12, 31, 18, tzinfo=UTC)),
]


def edges(zone: str, year: int) -> list[datetime]:
    """The hours at whose end, or before it, the clocks of a zone jump."""
    hours = [datetime(year, 1, 1, tzinfo=UTC) + number * HOUR for number in range(8785)]
    offsets = [hour.astimezone(ZoneInfo(zone)).utcoffset() for hour in hours]
    return [hour for hour, now, then in zip(hours, offsets, offsets[1:], strict=False) if now != then]


PLACES = QUIET_DAYS + [(zone, edge) for zone, year in ZONES_AND_YEARS for edge in edges(zone, year)]
SHORT_JUMPS = [place for place in PLACES if place[0] not in {"Pacific/Apia", "Pacific/Kiritimati"}]


# Expressions: texts with the values that they stand for.


@dataclass(frozen=True)
class Item:
    text: str
    values: frozenset[int] = frozenset()
    special: tuple[int, int] | str | None = None


@dataclass(frozen=True)
class Field:
    items: tuple[Item, ...]

    @property
    def text(self) -> str:
        return ",".join(item.text for item in self.items)

    @property
    def values(self) -> frozenset[int]:
        return frozenset[int]().union(*(item.values for item in self.items))

    @property
    def specials(self) -> frozenset[tuple[int, int] | str]:
        return frozenset(item.special for item in self.items if item.special is not None)


@dataclass(frozen=True)
class Expression:
    second: Field | None
    minute: Field
    hour: Field
    day: Field
    month: Field
    weekday: Field

    @property
    def text(self) -> str:
        fields = (self.second, self.minute, self.hour, self.day, self.month, self.weekday)
        return " ".join(field.text for field in fields if field is not None)

    def matcher(self) -> Callable[[datetime], bool]:
        seconds = frozenset({0}) if self.second is None else self.second.values
        minutes, hours = self.minute.values, self.hour.values
        day_matches = lru_cache(self.matches_day)

        def matches(wall: datetime) -> bool:
            return wall.second in seconds and wall.minute in minutes and wall.hour in hours and day_matches(wall.date())

        return matches

    def matches_day(self, day: date) -> bool:
        if day.month not in self.month.values:
            return False
        by_day = day.day in self.day.values or self._is_special_day(day)
        by_weekday = self._is_weekday(day)
        if self.day.text.startswith("*") or self.weekday.text.startswith("*"):
            return by_day and by_weekday
        return by_day or by_weekday

    def _is_special_day(self, day: date) -> bool:
        last = date(day.year, day.month, monthrange(day.year, day.month)[1])
        last_weekday = last
        while last_weekday.isoweekday() > 5:
            last_weekday -= timedelta(days=1)
        return ("L" in self.day.specials and day == last) or ("LW" in self.day.specials and day == last_weekday)

    def _is_weekday(self, day: date) -> bool:
        number = day.isoweekday() % 7
        is_last = (day + timedelta(days=7)).month != day.month
        return (
            number in {value % 7 for value in self.weekday.values}
            or (number, (day.day - 1) // 7 + 1) in self.weekday.specials
            or (is_last and (number, 0) in self.weekday.specials)
        )


def items(low: int, high: int, names: list[str] | None = None) -> st.SearchStrategy[Item]:
    values = st.integers(low, high)
    steps = st.integers(1, high - low)

    def name(value: int) -> str:
        return names[value - low] if names and value - low < len(names) else str(value)

    single = st.builds(lambda a, named: Item(name(a) if named else str(a), frozenset({a})), values, st.booleans())
    ranges = st.builds(
        lambda a, b, named: Item(
            f"{name(min(a, b)) if named else min(a, b)}-{max(a, b)}", frozenset(range(min(a, b), max(a, b) + 1))
        ),
        values,
        values,
        st.booleans(),
    )
    return st.one_of(
        single,
        ranges,
        st.builds(
            lambda a, b, n: Item(f"{min(a, b)}-{max(a, b)}/{n}", frozenset(range(min(a, b), max(a, b) + 1)[::n])),
            values,
            values,
            steps,
        ),
        st.builds(lambda n: Item(f"*/{n}", frozenset(range(low, high + 1)[::n])), steps),
        st.builds(lambda a, n: Item(f"{a}/{n}", frozenset(range(a, high + 1)[::n])), values, steps),
    )


def fields(choice: st.SearchStrategy[Item], low: int, high: int) -> st.SearchStrategy[Field]:
    any_value = Field((Item("*", frozenset(range(low, high + 1))),))
    return st.one_of(
        st.just(any_value),
        st.builds(lambda item: Field((item,)), choice),
        st.builds(lambda chosen: Field(tuple(chosen)), st.lists(choice, min_size=1, max_size=3)),
    )


MINUTES = fields(items(0, 59), 0, 59)
HOURS = fields(items(0, 23), 0, 23)
DAYS = fields(items(1, 31) | st.sampled_from([Item("L", special="L"), Item("LW", special="LW")]), 1, 31)
MONTHS_OF_A_YEAR = fields(items(1, 12, MONTHS), 1, 12)
DAYS_OF_A_WEEK = fields(
    items(0, 7, WEEKDAYS)
    | st.builds(lambda day, nth: Item(f"{day}#{nth}", special=(day % 7, nth)), st.integers(0, 7), st.integers(1, 5))
    | st.builds(lambda day: Item(f"{day}L", special=(day % 7, 0)), st.integers(0, 7)),
    0,
    7,
)
ANY_DAY = Field((Item("*", frozenset(range(1, 32))),))
ANY_MONTH = Field((Item("*", frozenset(range(1, 13))),))
ANY_WEEKDAY = Field((Item("*", frozenset(range(8))),))


def hours_near(place: Place) -> st.SearchStrategy[Field]:
    """One or more of the local hours before, at and after the jump, where alone the policies matter."""
    zone, edge = place
    hours = {(edge + shift * HOUR).astimezone(ZoneInfo(zone)).hour + jump for shift in range(-1, 3) for jump in (0, 1)}
    near = st.builds(lambda hour: Item(str(hour), frozenset({hour})), st.sampled_from(sorted(h % 24 for h in hours)))
    return st.builds(lambda chosen: Field(tuple(chosen)), st.lists(near, min_size=1, max_size=3))


def expressions(
    seconds: st.SearchStrategy[Field | None], hours: st.SearchStrategy[Field]
) -> st.SearchStrategy[Expression]:
    """Most of them on any day, since few days hold an edge."""
    daily = st.builds(Expression, seconds, MINUTES, hours, st.just(ANY_DAY), st.just(ANY_MONTH), st.just(ANY_WEEKDAY))
    on_some_days = st.builds(
        Expression, seconds, MINUTES, hours, DAYS, st.just(ANY_MONTH) | MONTHS_OF_A_YEAR, DAYS_OF_A_WEEK
    )
    return st.one_of(daily, daily, on_some_days)


def cases(places: list[Place], seconds: st.SearchStrategy[Field | None]) -> st.SearchStrategy[tuple[Place, Expression]]:
    return st.sampled_from(places).flatmap(
        lambda place: st.tuples(st.just(place), expressions(seconds, hours_near(place) | HOURS))
    )


# The oracle: walk the instants, read the clock at each, and apply the policies.


@dataclass(frozen=True)
class Tick:
    """An instant, what the clock shows, whether it has shown it before, and what it jumped over to get there."""

    instant: datetime
    wall: datetime
    repeated: bool
    missing: tuple[datetime, ...]


@lru_cache(maxsize=256)
def walk(zone: str, middle: datetime, reach: timedelta, step: timedelta) -> list[Tick]:
    ticks: list[Tick] = []
    shown: set[datetime] = set()
    instant, expected = middle - reach, None
    while instant <= middle + reach:
        wall = instant.astimezone(ZoneInfo(zone)).replace(tzinfo=None, fold=0)
        missing: list[datetime] = []
        while expected is not None and expected < wall:
            missing.append(expected)
            expected += step
        ticks.append(Tick(instant, wall, wall in shown, tuple(missing)))
        shown.add(wall)
        instant, expected = instant + step, wall + step
    return ticks


def oracle(ticks: list[Tick], expression: Expression, policy: DaylightSaving) -> list[datetime]:
    matches = expression.matcher()
    if expression.hour.values == frozenset(range(24)):
        return [tick.instant for tick in ticks if matches(tick.wall)]
    return [
        tick.instant
        for tick in ticks
        if (matches(tick.wall) and (policy.fold is Fold.BOTH or not tick.repeated))
        or (policy.gap is Gap.NEXT_VALID and any(map(matches, tick.missing)))
    ]


def cron_unless_it_never_fires(expression: Expression, zone: str, policy: DaylightSaving) -> Cron | None:
    try:
        cron = parse(expression.text, timezone=zone, dst=policy)
    except InvalidSchedule as error:
        if "never fires" not in str(error):
            raise
        return None
    assert isinstance(cron, Cron)
    return cron


def following(cron: Cron, after: datetime) -> Iterator[datetime]:
    moment = cron.next(after, anchor=after)
    while moment is not None:
        yield moment
        moment = cron.next(moment, anchor=after)


def preceding(cron: Cron, before: datetime) -> Iterator[datetime]:
    moment = cron.previous(before, anchor=before)
    while moment is not None:
        yield moment
        moment = cron.previous(moment, anchor=before)


def agrees(expression: Expression, place: Place, policy: DaylightSaving, ticks: list[Tick], start: timedelta) -> None:
    """Within the walk the moments are those of the oracle, seen from *start* and from each quarter of an hour."""
    zone, edge = place
    expected = oracle(ticks, expression, policy)
    cron = cron_unless_it_never_fires(expression, zone, policy)
    if cron is None:
        assert expected == []
        return
    compare(cron, expected, edge + start, ENOUGH)
    for quarter in QUARTERS:
        compare(cron, expected, edge + quarter, 1)


def compare(cron: Cron, expected: list[datetime], start: datetime, enough: int) -> None:
    later, earlier = bisect_right(expected, start), bisect_left(expected, start)
    ahead = expected[later : later + enough]
    behind = expected[max(0, earlier - enough) : earlier][::-1]
    assert list(islice(following(cron, start), len(ahead))) == ahead
    assert list(islice(preceding(cron, start), len(behind))) == behind
    if ahead:
        assert cron.count(ahead[0], ahead[-1], anchor=start, limit=enough) == len(ahead)


@settings(max_examples=150)
@given(
    case=cases(PLACES, st.none()),
    start=STARTS,
)
def test_moments_are_those_that_the_clocks_show_minute_by_minute(
    case: tuple[Place, Expression], start: timedelta
) -> None:
    place, expression = case
    for policy in POLICIES:
        agrees(expression, place, policy, walk(*place, 30 * HOUR, MINUTE), start)


@settings(max_examples=80)
@given(
    case=cases([*SHORT_JUMPS, ("Africa/Monrovia", datetime(1972, 1, 7, tzinfo=UTC))], fields(items(0, 59), 0, 59)),
    start=STARTS,
)
def test_moments_are_those_that_the_clocks_show_second_by_second(
    case: tuple[Place, Expression], start: timedelta
) -> None:
    place, expression = case
    for policy in POLICIES:
        agrees(expression, place, policy, walk(*place, 4 * HOUR, SECOND), start)


@settings(max_examples=80)
@given(
    day=DAYS,
    month=MONTHS_OF_A_YEAR,
    weekday=DAYS_OF_A_WEEK,
    start=st.dates(min_value=date(1999, 1, 1), max_value=date(2110, 1, 1)),
)
def test_days_are_those_of_the_calendar_over_years(day: Field, month: Field, weekday: Field, start: date) -> None:
    noon = Field((Item("12", frozenset({12})),))
    expression = Expression(None, Field((Item("0", frozenset({0})),)), noon, day, month, weekday)
    midnight = datetime(start.year, start.month, start.day, tzinfo=UTC)
    days = [midnight + timedelta(days=number) for number in range(-400, 800)]
    expected = [each + 12 * HOUR for each in days if expression.matches_day(each.date())]
    cron = cron_unless_it_never_fires(expression, "UTC", DaylightSaving())
    if cron is None:
        assert expected == []
        return
    compare(cron, expected, midnight, ENOUGH)


@settings(max_examples=150)
@given(
    zone=st.sampled_from(sorted(available_timezones() - {"localtime"})),
    expression=expressions(st.none(), HOURS),
    policy=st.sampled_from(POLICIES),
    instant=st.datetimes(
        min_value=datetime(1971, 1, 1),  # noqa: DTZ001 - the strategy wants naive bounds
        max_value=datetime(2090, 1, 1),  # noqa: DTZ001
        timezones=st.just(UTC),
    ),
)
def test_next_and_previous_are_each_others_inverse_in_every_zone(
    zone: str, expression: Expression, policy: DaylightSaving, instant: datetime
) -> None:
    cron = cron_unless_it_never_fires(expression, zone, policy)
    if cron is None:
        return
    later = cron.next(instant, anchor=instant)
    assert later is not None
    assert later > instant
    earlier = cron.previous(later, anchor=instant)
    assert earlier is None or earlier <= instant
    assert earlier is None or cron.next(earlier, anchor=instant) == later
    assert cron.previous(later + timedelta.resolution, anchor=instant) == later
    assert cron.next(later - timedelta.resolution, anchor=instant) == later
