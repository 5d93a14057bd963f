"""The schedule grammar over all texts: it answers or points at the fault, and what it prints it reads back."""

from datetime import UTC, datetime, timedelta

from hypothesis import given, settings
from hypothesis import strategies as st

from mainspring.client.requests import schedule_text
from mainspring.domain.schedule import After, At, Cron, Every, Now, Schedule, parse
from mainspring.errors import InvalidSchedule

NEARLY_SCHEDULES = st.text(alphabet="0123456789*/-,#LW?@ :.+TZinevrysmhdw\t\u0663", max_size=40)
NEARLY_A_FIELD = (
    "* 0 5 61 */2 1-5 5-1 1,2 L LW 5L L5 5#2 5#9 MON JAN ? */0 SUN-SAT FRI-SUN 1-5/2 3-3/2 3/2 - / , # 1W 30 31 "
    "*/60 007 99999"
)
NEARLY_FIELDS = st.lists(st.sampled_from(NEARLY_A_FIELD.split()), min_size=3, max_size=7).map(" ".join)


def parse_or_point(text: str) -> Schedule | None:
    """The schedule, or None after checking that the error points into the text."""
    try:
        return parse(text)
    except InvalidSchedule as error:
        if error.text != text or not text[error.position :].startswith(error.part):
            raise
        return None


@settings(max_examples=300)
@given(text=st.text(max_size=60) | NEARLY_SCHEDULES | NEARLY_FIELDS)
def test_any_text_is_a_schedule_or_an_error_that_points_into_it(text: str) -> None:
    schedule = parse_or_point(text)
    if schedule is not None:
        assert parse(str(schedule)) == schedule


@settings(max_examples=200)
@given(text=NEARLY_FIELDS)
def test_a_cron_that_parses_also_fires(text: str) -> None:
    now = datetime(2026, 1, 1, tzinfo=UTC)
    schedule = parse_or_point(text)
    if schedule is not None:
        assert isinstance(schedule, Cron)
        assert schedule.next(now, anchor=now) is not None


@given(zone=st.text(max_size=60))
def test_any_zone_is_known_or_an_error_that_names_it(zone: str) -> None:
    try:
        parse("now", timezone=zone)
    except InvalidSchedule as error:
        if error.part != zone or error.field != "timezone":
            raise


@given(instant=st.datetimes(timezones=st.just(UTC)))
def test_an_instant_reads_back(instant: datetime) -> None:
    assert parse(str(At(instant))) == At(instant)


@given(delay=st.timedeltas(timedelta(0), timedelta(days=36_525)))
def test_a_delay_reads_back_to_the_microsecond(delay: timedelta) -> None:
    assert parse(str(After(delay))) == After(delay)
    assert parse(schedule_text(delay)) == (After(delay) if delay else Now())


@given(
    seconds=st.integers(1, 100_000),
    number=st.integers(-3, 50),
    shift=st.sampled_from([timedelta(0), timedelta.resolution, -timedelta.resolution]),
    reach=st.integers(0, 20),
    limit=st.integers(0, 25),
)
def test_every_counts_from_its_anchor(seconds: int, number: int, shift: timedelta, reach: int, limit: int) -> None:
    every = Every(timedelta(seconds=seconds))
    anchor = datetime(2026, 1, 1, tzinfo=UTC)
    moments = [anchor + timedelta(seconds=seconds * n) for n in range(1, 80)]
    instant = anchor + timedelta(seconds=seconds * number) + shift
    until = instant + timedelta(seconds=seconds * reach)
    inside = sum(instant <= moment <= until for moment in moments)

    assert every.next(instant, anchor=anchor) == min(moment for moment in moments if moment > instant)
    assert every.previous(instant, anchor=anchor) == max((m for m in moments if m < instant), default=None)
    assert every.count(instant, until, anchor=anchor, limit=limit) == (inside if inside <= limit else None)
