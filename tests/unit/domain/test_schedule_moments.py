"""The moments of recurring schedules by example, above all where the clocks jump."""

from datetime import UTC, datetime, timedelta

import pytest

from mainspring.domain.schedule import Cron, DaylightSaving, Every, Fold, Gap, Recurring, parse

SKIP = DaylightSaving(gap=Gap.SKIP)
BOTH = DaylightSaving(fold=Fold.BOTH)
DEFAULT = DaylightSaving()
ANCHOR = datetime(2026, 1, 1, tzinfo=UTC)


def instant(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


def recurring(text: str, zone: str = "UTC", dst: DaylightSaving = DEFAULT) -> Recurring:
    schedule = parse(text, timezone=zone, dst=dst)
    assert isinstance(schedule, Cron | Every)
    return schedule


def forward(schedule: Recurring, after: datetime, until: datetime) -> list[datetime]:
    moments = []
    moment = schedule.next(after, anchor=ANCHOR)
    while moment is not None and moment < until:
        moments.append(moment)
        moment = schedule.next(moment, anchor=ANCHOR)
    return moments


def backward(schedule: Recurring, before: datetime, until: datetime) -> list[datetime]:
    moments = []
    moment = schedule.previous(before, anchor=ANCHOR)
    while moment is not None and moment > until:
        moments.append(moment)
        moment = schedule.previous(moment, anchor=ANCHOR)
    return moments[::-1]


@pytest.mark.parametrize(
    ("text", "after", "expected"),
    [
        ("* * * * *", "2026-03-04T05:06:07", "2026-03-04T05:07"),
        ("* * * * *", "2026-03-04T05:06:00", "2026-03-04T05:07"),
        ("* * * * *", "2026-03-04T05:05:59.999999", "2026-03-04T05:06"),
        ("*/5 * * * *", "2026-03-04T05:06", "2026-03-04T05:10"),
        ("*/2 * * * * *", "2026-03-04T05:06:07", "2026-03-04T05:06:08"),
        ("0 6 * * *", "2026-12-31T07:00", "2027-01-01T06:00"),
        ("0 0 * * 0", "2026-03-04T00:00", "2026-03-08T00:00"),
        ("0 0 * * 7", "2026-03-04T00:00", "2026-03-08T00:00"),
        ("0 0 * * FRI-SUN", "2026-03-06T00:00", "2026-03-07T00:00"),
        ("0 0 13 * FRI", "2026-03-04T00:00", "2026-03-06T00:00"),
        ("0 0 */2 * FRI", "2026-03-04T00:00", "2026-03-13T00:00"),
        ("0 0 29 2 *", "2096-02-29T00:00", "2104-02-29T00:00"),
        ("0 0 29 2 */7", "2088-02-29T00:00", "2128-02-29T00:00"),
        ("0 0 L * *", "2028-02-01T00:00", "2028-02-29T00:00"),
        ("0 0 LW * *", "2026-05-01T00:00", "2026-05-29T00:00"),
        ("0 0 * * 5L", "2026-05-01T00:00", "2026-05-29T00:00"),
        ("0 0 * * MON#2", "2026-05-01T00:00", "2026-05-11T00:00"),
        ("* * * * *", "1800-01-01T00:00", "1970-01-01T00:00"),
    ],
)
def test_cron_fires_at_the_first_match(text: str, after: str, expected: str) -> None:
    schedule = recurring(text)
    assert schedule.next(instant(after), anchor=ANCHOR) == instant(expected)
    assert schedule.previous(instant(expected) + timedelta.resolution, anchor=ANCHOR) == instant(expected)


@pytest.mark.parametrize(
    ("zone", "text", "dst", "after", "expected"),
    [
        # The hour from 02:00 is missing: 03:00 local is 01:00 UTC.
        ("Europe/Berlin", "30 2 * * *", DEFAULT, "2026-03-28T12", ["2026-03-29T01:00"]),
        ("Europe/Berlin", "30 2 * * *", SKIP, "2026-03-28T12", []),
        ("Europe/Berlin", "*/20 2,3 * * *", DEFAULT, "2026-03-28T12", ["03-29T01:00", "03-29T01:20", "03-29T01:40"]),
        ("Europe/Berlin", "0 * * * *", DEFAULT, "2026-03-28T23:30", [f"03-29T{hour:02}:00" for hour in range(24)]),
        # The hour from 02:00 occurs twice: at 00:00 and at 01:00 UTC.
        ("Europe/Berlin", "30 2 * * *", DEFAULT, "2026-10-24T12", ["2026-10-25T00:30"]),
        ("Europe/Berlin", "30 2 * * *", BOTH, "2026-10-24T12", ["2026-10-25T00:30", "2026-10-25T01:30"]),
        ("Europe/Berlin", "0 * * * *", DEFAULT, "2026-10-24T23:30", [f"10-25T{hour:02}:00" for hour in range(24)]),
        ("Europe/Berlin", "0 0-23 * * *", SKIP, "2026-10-24T23:30", [f"10-25T{hour:02}:00" for hour in range(24)]),
        # Half an hour: 02:00 to 02:30 is missing, 01:30 to 02:00 occurs twice.
        ("Australia/Lord_Howe", "15 2 * * *", DEFAULT, "2026-10-03T00", ["2026-10-03T15:30"]),
        ("Australia/Lord_Howe", "45 1 * * *", BOTH, "2026-04-04T00", ["2026-04-04T14:45", "2026-04-04T15:15"]),
        # A whole day is missing: 30 December.
        ("Pacific/Apia", "0 9 * * *", DEFAULT, "2011-12-30T00", ["2011-12-30T10:00", "2011-12-30T19:00"]),
        ("Pacific/Apia", "0 9 * * *", SKIP, "2011-12-30T00", ["2011-12-30T19:00"]),
        # The clocks jump at midnight.
        ("America/Sao_Paulo", "0 0 * * *", DEFAULT, "2018-11-03T12", ["2018-11-04T03:00"]),
        ("America/Sao_Paulo", "0 0 * * *", SKIP, "2018-11-03T12", []),
        # Standard time is in summer, yet the clocks jump like elsewhere.
        ("Europe/Dublin", "30 1 * * *", DEFAULT, "2026-03-28T12", ["2026-03-29T01:00"]),
        ("Europe/Dublin", "30 1 * * *", BOTH, "2026-10-24T12", ["2026-10-25T00:30", "2026-10-25T01:30"]),
    ],
)
def test_the_policy_decides_where_the_clocks_jump(
    zone: str, text: str, dst: DaylightSaving, after: str, expected: list[str]
) -> None:
    start = instant(after)
    end = start + timedelta(days=1)
    schedule = recurring(text, zone, dst)
    moments = [instant(each if len(each) > 11 else f"{start.year}-{each}") for each in expected]
    assert forward(schedule, start, end) == moments
    assert backward(schedule, end, start) == moments


def test_the_second_pass_of_a_fold_is_silent_by_default() -> None:
    schedule = recurring("30 2 * * *", "Europe/Berlin")
    for after, expected in [("25T00:10", "25T00:30"), ("25T00:40", "26T01:30"), ("25T01:10", "26T01:30")]:
        assert schedule.next(instant(f"2026-10-{after}"), anchor=ANCHOR) == instant(f"2026-10-{expected}")
    for before, expected in [("25T00:40", "25T00:30"), ("25T01:10", "25T00:30"), ("25T01:40", "25T00:30")]:
        assert schedule.previous(instant(f"2026-10-{before}"), anchor=ANCHOR) == instant(f"2026-10-{expected}")


def test_each_pass_of_a_fold_is_found_from_the_other() -> None:
    """02:05 local occurs at 00:05 and at 01:05 UTC."""
    schedule = recurring("5 1,2 * * *", "Europe/Berlin", BOTH)
    for after, expected in [("24T23:10", "25T00:05"), ("25T00:05", "25T01:05"), ("25T01:05", "26T00:05")]:
        assert schedule.next(instant(f"2026-10-{after}"), anchor=ANCHOR) == instant(f"2026-10-{expected}")
    for before, expected in [("25T01:06", "25T01:05"), ("25T01:05", "25T00:05"), ("25T01:00", "25T00:05")]:
        assert schedule.previous(instant(f"2026-10-{before}"), anchor=ANCHOR) == instant(f"2026-10-{expected}")


@pytest.mark.parametrize("text", ["0 0 1 1 *", "0 0 29 2 *", "@every 52w"])
def test_there_is_nothing_beyond_the_year_9999(text: str) -> None:
    schedule = recurring(text, "Pacific/Kiritimati")
    latest = datetime.max.replace(tzinfo=UTC)
    assert schedule.next(instant("9999-12-20T00:00"), anchor=ANCHOR) is None
    assert schedule.next(latest, anchor=ANCHOR) is None
    assert schedule.previous(latest, anchor=ANCHOR) is not None


@pytest.mark.parametrize("before", ["1969-01-01T00:00", "1970-01-01T00:00", "1970-06-01T00:00"])
def test_cron_has_no_moments_before_1970(before: str) -> None:
    assert recurring("0 0 31 12 *").previous(instant(before), anchor=ANCHOR) is None


@pytest.mark.parametrize("text", ["30 2 * 3 0L", "0 0 LW * */7"])
def test_a_cron_that_parsing_would_refuse_has_no_moment(text: str) -> None:
    never = Cron(text, "Europe/Berlin", SKIP)
    assert never.next(instant("2040-01-01T00:00"), anchor=ANCHOR) is None
    assert never.previous(instant("2090-01-01T00:00"), anchor=ANCHOR) is None


def test_every_starts_one_period_after_its_anchor() -> None:
    schedule = recurring("@every 90s")
    assert schedule.next(ANCHOR - timedelta(days=1), anchor=ANCHOR) == ANCHOR + timedelta(seconds=90)
    assert schedule.next(ANCHOR + timedelta(seconds=90), anchor=ANCHOR) == ANCHOR + timedelta(seconds=180)
    assert schedule.previous(ANCHOR + timedelta(seconds=90), anchor=ANCHOR) is None
    assert schedule.previous(ANCHOR + timedelta(seconds=91), anchor=ANCHOR) == ANCHOR + timedelta(seconds=90)


@pytest.mark.parametrize(
    ("text", "first", "last", "limit", "expected"),
    [
        ("*/15 * * * *", "2026-03-04T05:00", "2026-03-04T06:00", 5, 5),
        ("*/15 * * * *", "2026-03-04T05:00", "2026-03-04T06:00", 4, None),
        ("*/15 * * * *", "2026-03-04T05:01", "2026-03-04T05:14", 0, 0),
        ("*/15 * * * *", "0001-01-01T00:00", "1970-01-01T00:15", 5, 2),
        ("*/15 * * * *", "9999-12-29T23:45", "9999-12-31T00:00", 5, 1),
        ("@every 1m", "2026-01-01T00:01", "2026-01-01T00:03", 3, 3),
        ("@every 1m", "2026-01-01T00:01", "2026-01-01T00:03", 2, None),
        ("@every 1m", "2025-01-01T00:00", "2026-01-01T00:01", 9, 1),
        ("@every 1m", "2025-01-01T00:00", "2025-01-01T00:01", 9, 0),
        ("@every 1s", "2026-01-01T00:00", "2126-01-01T00:00", 10, None),
    ],
)
def test_moments_are_counted_up_to_a_limit(text: str, first: str, last: str, limit: int, expected: int | None) -> None:
    schedule = recurring(text)
    assert schedule.count(instant(first), instant(last), anchor=ANCHOR, limit=limit) == expected
