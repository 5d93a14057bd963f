"""Each form of the schedule grammar, and what is said about texts that are none."""

from datetime import UTC, datetime, timedelta

import pytest

from mainspring.domain.schedule import After, At, Cron, DaylightSaving, Every, Fold, Gap, Now, OnDemand, Schedule, parse
from mainspring.errors import InvalidSchedule

DASH = "\N{EN DASH}"
DEFAULT = DaylightSaving()


def cron(text: str) -> Cron:
    return Cron(text, "UTC", DEFAULT)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (None, Now()),
        ("now", Now()),
        ("  NOW ", Now()),
        ("on-demand", OnDemand()),
        ("On-Demand", OnDemand()),
        ("2030-01-31T09:00:00Z", At(datetime(2030, 1, 31, 9, tzinfo=UTC))),
        (" 2030-01-31t09:00:00z ", At(datetime(2030, 1, 31, 9, tzinfo=UTC))),
        ("2030-01-31 09:00:00+02:00", At(datetime(2030, 1, 31, 7, tzinfo=UTC))),
        ("2030-01-01T00:00:00-05:30", At(datetime(2030, 1, 1, 5, 30, tzinfo=UTC))),
        ("2030-01-31T09:00:00-00:00", At(datetime(2030, 1, 31, 9, tzinfo=UTC))),
        ("2030-01-31T09:00:00.5Z", At(datetime(2030, 1, 31, 9, 0, 0, 500_000, tzinfo=UTC))),
        ("2030-01-31T09:00:00.123456789Z", At(datetime(2030, 1, 31, 9, 0, 0, 123_456, tzinfo=UTC))),
        ("2028-02-29T00:00:00Z", At(datetime(2028, 2, 29, tzinfo=UTC))),
        ("in 10s", After(timedelta(seconds=10))),
        ("in 0s", After(timedelta(0))),
        ("In 1H30M", After(timedelta(minutes=90))),
        ("in  1h 30m ", After(timedelta(minutes=90))),
        ("in 2w3d4h5m6s", After(timedelta(weeks=2, days=3, hours=4, minutes=5, seconds=6))),
        ("in 36525d", After(timedelta(days=36_525))),
        ("in 1.5s", After(timedelta(seconds=1.5))),
        ("in 500ms", After(timedelta(milliseconds=500))),
        ("in 1.5h 0.25m 1s 0.5ms", After(timedelta(hours=1.5, seconds=16, microseconds=500))),
        ("in 0.000001s", After(timedelta(microseconds=1))),
        ("in 0.1234569s", After(timedelta(microseconds=123_456))),
        ("in 3155759999.999999s", After(timedelta(days=36_525, microseconds=-1))),
        ("@every 90s", Every(timedelta(seconds=90))),
        ("@EVERY 1h30m", Every(timedelta(minutes=90))),
        ("@hourly", cron("0 * * * *")),
        ("@daily", cron("0 0 * * *")),
        ("@Midnight", cron("0 0 * * *")),
        ("@weekly", cron("0 0 * * 0")),
        ("@monthly", cron("0 0 1 * *")),
        ("@yearly", cron("0 0 1 1 *")),
        ("@annually", cron("0 0 1 1 *")),
        ("* * * * *", cron("* * * * *")),
        ("*/10 * * * * *", cron("*/10 * * * * *")),
        ("  30   9\t* * mon-fri ", cron("30 9 * * MON-FRI")),
        ("00 09 1,15 jan-Mar/2 *", cron("0 9 1,15 JAN-MAR/2 *")),
        ("5/15 0-23/2 * * 7", cron("5/15 0-23/2 * * 7")),
        ("0 0 * * FRI-SUN", cron("0 0 * * 5-7")),
        ("0 0 * * 1-0", cron("0 0 * * 1-7")),
        ("0 0 * * SUN-SAT", cron("0 0 * * SUN-SAT")),
        ("3-3 4-4/2 * * *", cron("3 4 * * *")),
        ("0 0 l * *", cron("0 0 L * *")),
        ("0 0 15,lw * *", cron("0 0 15,LW * *")),
        ("0 0 * * fril", cron("0 0 * * 5L")),
        ("0 0 * * 5L,mon#1", cron("0 0 * * 5L,1#1")),
        ("0 0 29 2 *", cron("0 0 29 2 *")),
        ("0 0 29 2 */7", cron("0 0 29 2 */7")),
        ("0 0 * 2 1#5", cron("0 0 * 2 1#5")),
        ("0 0 30 2 MON", cron("0 0 30 2 MON")),
    ],
)
def test_a_text_means_a_schedule_and_its_canonical_text_means_the_same(text: str | None, expected: Schedule) -> None:
    schedule = parse(text)
    assert schedule == expected
    assert parse(str(schedule)) == schedule


@pytest.mark.parametrize(
    ("schedule", "text"),
    [
        (Now(), "now"),
        (OnDemand(), "on-demand"),
        (At(datetime(2030, 1, 31, 9, tzinfo=UTC)), "2030-01-31T09:00:00Z"),
        (After(timedelta(0)), "in 0s"),
        (After(timedelta(days=8, seconds=61)), "in 1w1d1m1s"),
        (After(timedelta(milliseconds=500)), "in 0.5s"),
        (After(timedelta(minutes=1, microseconds=10)), "in 1m0.00001s"),
        (Every(timedelta(seconds=90)), "@every 1m30s"),
        (cron("0 9 * * MON-FRI"), "0 9 * * MON-FRI"),
    ],
)
def test_a_schedule_is_printed_in_its_canonical_form(schedule: Schedule, text: str) -> None:
    assert str(schedule) == text


def test_zone_and_policy_belong_to_the_cron() -> None:
    policy = DaylightSaving(gap=Gap.SKIP, fold=Fold.BOTH)
    assert parse("0 9 * * *", timezone="Europe/Berlin", dst=policy) == Cron("0 9 * * *", "Europe/Berlin", policy)


@pytest.mark.parametrize(
    ("text", "part", "position", "message"),
    [
        ("61 * * * *", "61", 0, f"minute 61 is out of range 0{DASH}59"),
        ("  0 24 * * *", "24", 4, f"hour 24 is out of range 0{DASH}23"),
        ("60 * * * * *", "60", 0, f"second 60 is out of range 0{DASH}59"),
        ("0 0 0 * *", "0", 4, f"day-of-month 0 is out of range 1{DASH}31"),
        ("0 0 1 13 *", "13", 6, f"month 13 is out of range 1{DASH}12"),
        ("0 0 * * 8", "8", 8, f"day-of-week 8 is out of range 0{DASH}7"),
        ("1,2,99 * * * *", "99", 4, "minute 99 is out of range"),
        ("1-99 * * * *", "99", 2, "minute 99 is out of range"),
        ("x * * * *", "x", 0, f"minute 'x' isn't understood; use 0{DASH}59"),
        ("\u0663 * * * *", "\u0663", 0, "isn't understood"),
        ("-5 * * * *", "", 0, "minute '' isn't understood"),
        ("0 0 1 JUNE *", "JUNE", 6, f"use 1{DASH}12 or JAN{DASH}DEC"),
        ("0 0 * * FRY", "FRY", 8, f"use 0{DASH}7 or SUN{DASH}SAT"),
        ("0 0 ? * 1", "?", 4, "write * for any"),
        ("0 0 15W * *", "15W", 4, "only L (last day) and LW (last weekday)"),
        ("0 0 L/2 * *", "L", 4, "only L (last day) and LW (last weekday)"),
        ("0 0 L-3 * *", "L", 4, "only L (last day) and LW (last weekday)"),
        ("0 0 * * L", "L", 8, "doesn't say which day; the last Friday of the month is 5L"),
        ("0 0 * * 9L", "9", 8, "out of range"),
        ("0 0 * * 5#6", "6", 10, f"#6 is out of range 1{DASH}5"),
        ("0 0 * * 9#1", "9", 8, "out of range"),
        ("5,,6 * * * *", "", 2, "an item of the minute list is empty"),
        ("0 22-2 * * *", "22-2", 2, "runs backwards; write it as two ranges"),
        ("0 0 * * SAT-MON", "SAT-MON", 8, "runs backwards"),
        ("*/0 * * * *", "0", 2, "step '0' isn't a whole number above 0"),
        ("*/x * * * *", "x", 2, "step 'x' isn't a whole number above 0"),
        ("*/90 * * * *", "90", 2, "longer than the 60 values; for long periods use @every"),
        ("* * * *", "* * * *", 0, "cron has 5 fields, or 6 with seconds first, but here are 4"),
        ("* * * * * * *", "* * * * * * *", 0, "but here are 7"),
        ("0 0 30 2 *", "30 2 *", 4, "never fires"),
        ("0 0 31 4,6,9,11 *", "31 4,6,9,11 *", 4, "never fires"),
        ("0 0 LW * */7", "LW * */7", 4, "never fires"),
        ("0 0 0 30,31 FEB *", "30,31 FEB *", 6, "never fires"),
        ("", "", 0, "the schedule is empty; write now, on-demand, an instant"),
        (" \t\n", "", 3, "the schedule is empty"),
        ("tomorrow", "tomorrow", 0, "isn't a schedule; write now, on-demand, an instant"),
        ("now now", "now now", 0, "isn't a schedule"),
        ("5", "5", 0, "isn't a schedule"),
        ("in", "in", 0, "in needs a duration; write in 10s"),
        ("in 10", "10", 3, "10 needs a unit: ms, s, m, h, d or w"),
        ("in 5 minutes", "minutes", 5, "the unit 'minutes' is unknown"),
        ("in 5us", "us", 4, "the unit 'us' is unknown; use ms, s, m, h, d or w"),
        ("in 1.5.5h", "1.5.5", 3, "1.5.5 isn't a number; write one like 1.5"),
        ("in 1.s", "1.", 3, "1. isn't a number"),
        ("in .5s", ".5s", 3, "isn't a duration"),
        ("in 1e3s", "e", 4, "the unit 'e' is unknown"),
        ("in 1ms1ms", "ms", 7, "ms can't follow ms"),
        ("in 1ms1s", "s", 7, "s can't follow ms"),
        ("in 36525d0.000001s", "36525d0.000001s", 3, "longer than 100 years"),
        ("@every 100ms", "ms", 10, "the unit 'ms' is unknown; use s, m, h, d or w"),
        ("@every 1.5h", "1.5", 7, "isn't a whole number; combine units instead"),
        ("in -5s", "-5s", 3, "isn't a duration; write one like 90s or 1h30m"),
        ("in 1h1h", "h", 6, "h can't follow h"),
        ("in 1s1h", "h", 6, "h can't follow s"),
        ("in 36525d1s", "36525d1s", 3, "longer than 100 years"),
        ("@every 99999999999999999999w", "99999999999999999999w", 7, "longer than 100 years"),
        ("@every", "@every", 0, "@every needs a duration; write @every 5m"),
        ("@every 0s", "0s", 7, "the period must be at least 1s"),
        ("@dayly", "@dayly", 0, "did you mean @daily?"),
        ("@reboot", "@reboot", 0, "use @every 5m or one of @hourly"),
        ("2030-01-31T09:00:00", "2030-01-31T09:00:00", 0, "add Z for UTC or an offset like +02:00"),
        ("2030-01-31", "2030-01-31", 0, "is a date without a time"),
        ("2030-1-31T09:00:00Z", "2030-1-31T09:00:00Z", 0, "isn't an RFC 3339 instant"),
        ("2030-13-31T09:00:00Z", "13", 5, f"month 13 is out of range 1{DASH}12"),
        ("2030-02-29T09:00:00Z", "29", 8, f"2030-02 has days 1{DASH}28"),
        ("2030-02-00T09:00:00Z", "00", 8, "day 00 is out of range"),
        ("2030-01-31T24:00:00Z", "24", 11, f"hour 24 is out of range 0{DASH}23"),
        ("2030-01-31T09:60:00Z", "60", 14, f"minute 60 is out of range 0{DASH}59"),
        ("2030-01-31T09:00:61Z", "61", 17, f"second 61 is out of range 0{DASH}59"),
        ("2016-12-31T23:59:60Z", "60", 17, "leap seconds (:60) can't be scheduled"),
        ("2030-01-31T09:00:00+24:00", "24", 20, f"offset hour 24 is out of range 0{DASH}23"),
        ("0000-01-01T00:00:00Z", "0000", 0, f"year 0000 is out of range 1{DASH}9999"),
        ("0001-01-01T00:00:00+10:00", "0001-01-01T00:00:00+10:00", 0, "outside the years 1 to 9999"),
        ("9999-12-31T23:59:59-00:01", "9999-12-31T23:59:59-00:01", 0, "outside the years 1 to 9999"),
    ],
)
def test_an_error_says_what_is_wrong_and_where(text: str, part: str, position: int, message: str) -> None:
    with pytest.raises(InvalidSchedule) as caught:
        parse(text)
    assert message in str(caught.value)
    assert (caught.value.part, caught.value.position) == (part, position)
    assert (caught.value.text, caught.value.field) == (text, "schedule")


def test_a_text_may_have_500_characters_and_not_one_more() -> None:
    longest = ",".join(["59"] * 164) + " * * * *"
    assert isinstance(parse(longest.ljust(500)), Cron)
    with pytest.raises(InvalidSchedule, match="at most 500 characters") as caught:
        parse(longest.ljust(501))
    assert len(caught.value.text) == 500


@pytest.mark.parametrize(
    ("zone", "message"),
    [
        ("europe/berlin", "did you mean 'Europe/Berlin'?"),
        ("Berlin", "did you mean 'Europe/Berlin'?"),
        ("America/New York", "did you mean 'America/New_York'?"),
        ("Mars/Base", "'Mars/Base' is unknown; use an IANA name like Europe/Berlin"),
        ("", "'' is unknown"),
        ("../../etc/passwd", "is unknown"),
        ("localtime", "'localtime' is unknown"),
    ],
)
@pytest.mark.parametrize("text", ["now", "0 9 * * *"])
def test_an_unknown_zone_is_named_with_the_one_that_was_meant(text: str, zone: str, message: str) -> None:
    with pytest.raises(InvalidSchedule) as caught:
        parse(text, timezone=zone)
    assert message in str(caught.value)
    assert (caught.value.part, caught.value.position, caught.value.field) == (zone, 0, "timezone")


def test_a_cron_that_only_meets_gaps_never_fires_when_they_are_skipped() -> None:
    with pytest.raises(InvalidSchedule, match=r"never fires: .* always skipped by the clocks of Europe/Berlin"):
        parse("30 2 * 3 SUNL", timezone="Europe/Berlin", dst=DaylightSaving(gap=Gap.SKIP))
    assert isinstance(parse("30 2 * 3 SUNL", timezone="Europe/Berlin"), Cron)
