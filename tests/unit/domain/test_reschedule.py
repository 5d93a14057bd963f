import re
from dataclasses import replace
from datetime import timedelta

import pytest

from mainspring.domain.ids import fired_run_id
from mainspring.domain.job import JobState
from mainspring.domain.plan import Skip, SkipReason
from mainspring.domain.reschedule import deleted, edited, first_moment, paused, resumed, scheduled, started
from mainspring.errors import InvalidSchedule
from tests.unit.domain.factories import JOB, at, job, terms


def skip(first: float, last: float, count: int, reason: SkipReason) -> Skip:
    return Skip(job_id=JOB, first=at(first), last=at(last), count=count, reason=reason)


def test_an_interval_begins_one_period_after_its_creation() -> None:
    assert first_moment(job(), at(0)) == at(10)


def test_an_interval_with_a_start_begins_at_that_start() -> None:
    assert first_moment(job(terms(starts_at=at(7))), at(0)) == at(7)


def test_a_start_in_the_past_only_anchors_the_interval() -> None:
    assert first_moment(job(terms(starts_at=at(7))), at(7)) == at(17)
    assert first_moment(job(terms(starts_at=at(7))), at(25)) == at(27)


def test_a_cron_expression_begins_with_its_first_match_after_now() -> None:
    assert first_moment(job(terms("* * * * *")), at(60)) == at(120)


def test_a_cron_expression_with_a_start_begins_with_its_first_match_from_there_on() -> None:
    assert first_moment(job(terms("* * * * *", starts_at=at(120))), at(0)) == at(120)
    assert first_moment(job(terms("* * * * *", starts_at=at(121))), at(0)) == at(180)


def test_a_job_on_demand_has_no_moments() -> None:
    assert first_moment(job(terms("on-demand")), at(0)) is None


@pytest.mark.parametrize(
    ("schedule", "year", "field"),
    [("0 0 29 2 *", 9997, "starts_at"), ("@daily", 9999, "starts_at"), ("0 0 29 2 *", None, "schedule")],
)
def test_a_schedule_without_any_moment_to_come_is_refused(schedule: str, year: int | None, field: str) -> None:
    late = at(0).replace(year=9999, month=12, day=31)
    start = None if year is None else late.replace(year=year)
    the_job = job(terms(schedule, starts_at=start))
    with pytest.raises(InvalidSchedule, match=f"never fires: no moment of '{re.escape(schedule)}' comes") as caught:
        scheduled(the_job, late if start is None else at(0))
    assert caught.value.field == field


def test_an_edit_that_leaves_no_moment_is_refused() -> None:
    the_job = job(terms("0 0 29 2 *"), next_fire_at=at(10))
    late = replace(the_job, terms=replace(the_job.terms, starts_at=at(0).replace(year=9997)))
    with pytest.raises(InvalidSchedule, match="never fires"):
        edited(the_job, late, at(5))


def test_a_start_that_is_the_only_moment_is_one() -> None:
    last = at(0).replace(year=9999, month=12, day=31)
    assert first_moment(job(terms("@every 52w", starts_at=last)), at(0)) == last
    assert started(job(terms("0 0 29 2 *", starts_at=last)), at(0)).next_fire_at == last


@pytest.mark.parametrize("schedule", ["now", "in 10s", "2030-06-01T00:00:00Z"])
def test_a_standing_job_cannot_run_just_once(schedule: str) -> None:
    with pytest.raises(InvalidSchedule) as caught:
        first_moment(job(terms(schedule)), at(0))
    assert (caught.value.text, caught.value.part) == (schedule, schedule)


def test_a_scheduled_job_wakes_the_planner_at_its_first_moment() -> None:
    the_job = scheduled(job(), at(0))
    assert the_job.next_fire_at == the_job.wake_at == at(10)


@pytest.mark.parametrize(("start", "first"), [(7, 7), (2, 5), (None, 5)], ids=["to come", "passed", "none"])
def test_a_job_can_begin_at_its_start_whatever_its_schedule_says(start: float | None, first: float) -> None:
    the_job = started(job(terms("* * * * *", starts_at=None if start is None else at(start))), at(5))
    assert the_job.next_fire_at == the_job.wake_at == the_job.anchor == at(first)


def test_a_paused_job_keeps_its_next_moment_but_is_not_looked_at() -> None:
    the_job = paused(job(next_fire_at=at(10)))
    assert (the_job.state, the_job.next_fire_at, the_job.wake_at) == (JobState.PAUSED, at(10), None)


def test_resuming_before_the_next_moment_skips_nothing() -> None:
    the_job, skips = resumed(paused(job(next_fire_at=at(10))), at(9))
    assert (the_job.state, the_job.next_fire_at, the_job.wake_at, skips) == (JobState.ACTIVE, at(10), at(10), ())


def test_resuming_skips_what_came_during_the_pause() -> None:
    the_job, skips = resumed(paused(job(next_fire_at=at(10))), at(35))
    assert (the_job.state, the_job.next_fire_at, the_job.wake_at) == (JobState.ACTIVE, at(40), at(40))
    assert skips == (skip(10, 30, 3, SkipReason.PAUSED),)


def test_resuming_a_job_on_demand_only_changes_its_state() -> None:
    the_job, skips = resumed(paused(job(terms("on-demand"))), at(35))
    assert (the_job.state, the_job.next_fire_at, the_job.wake_at, skips) == (JobState.ACTIVE, None, None, ())


def test_resuming_an_active_job_skips_nothing_that_is_due() -> None:
    active = job(next_fire_at=at(10))
    assert resumed(active, at(35)) == (active, ())


def test_an_edit_of_something_else_leaves_the_next_moment_alone() -> None:
    the_job, skips = edited(job(next_fire_at=at(10)), replace(job(), name="weekly"), at(35))
    assert (the_job.name, the_job.next_fire_at, the_job.wake_at, skips) == ("weekly", at(10), at(10), ())


@pytest.mark.parametrize(("wake_at", "now", "looked_at"), [(36, 35, 35), (36, 50, 36), (10, 35, 10), (10, 5, 10)])
def test_an_edit_ends_the_wait_for_the_active_run_and_still_shows_that_there_was_one(
    wake_at: float, now: float, looked_at: float
) -> None:
    waiting = replace(job(next_fire_at=at(10)), wake_at=at(wake_at))
    the_job, _ = edited(waiting, replace(waiting, terms=terms(grace=5)), at(now))
    assert (the_job.next_fire_at, the_job.wake_at) == (at(10), at(looked_at))


def test_a_new_schedule_skips_what_was_due_and_begins_after_now() -> None:
    the_job, skips = edited(job(next_fire_at=at(10)), job(terms("@every 7s")), at(35))
    assert (the_job.next_fire_at, the_job.wake_at) == (at(42), at(42))
    assert skips == (skip(10, 30, 3, SkipReason.EDITED),)


def test_a_new_schedule_skips_nothing_where_nothing_is_due() -> None:
    the_job, skips = edited(job(next_fire_at=at(10)), job(terms("on-demand")), at(5))
    assert (the_job.next_fire_at, the_job.wake_at, skips) == (None, None, ())


def test_a_new_schedule_of_a_job_on_demand_begins_after_now() -> None:
    the_job, skips = edited(job(terms("on-demand")), job(), at(5))
    assert (the_job.next_fire_at, skips) == (at(10), ())


def test_a_new_schedule_of_a_paused_job_waits_for_its_resumption() -> None:
    asleep = paused(job(next_fire_at=at(10)))
    the_job, skips = edited(asleep, replace(asleep, terms=terms("@every 7s")), at(35))
    assert (the_job.state, the_job.next_fire_at, the_job.wake_at) == (JobState.PAUSED, at(42), None)
    assert skips == (skip(10, 30, 3, SkipReason.PAUSED),)


def test_a_clock_that_was_set_back_brings_no_fired_moment_back() -> None:
    fired = job(next_fire_at=at(50), active_run=fired_run_id(JOB, at(40)))
    the_job, _ = edited(fired, replace(fired, terms=terms("@every 20s")), at(15))
    assert the_job.next_fire_at == at(60)


def test_an_edit_by_an_honest_clock_is_not_delayed_by_what_was_fired() -> None:
    fired = job(next_fire_at=at(50), active_run=fired_run_id(JOB, at(40)))
    the_job, _ = edited(fired, replace(fired, terms=terms("@every 1s")), at(40) + timedelta(milliseconds=2))
    assert the_job.next_fire_at == at(41)


def test_a_deleted_job_has_no_moments() -> None:
    the_job = deleted(job(next_fire_at=at(10)))
    assert (the_job.state, the_job.next_fire_at, the_job.wake_at) == (JobState.DELETED, None, None)


def test_an_edit_wakes_nobody_for_a_job_that_is_paused() -> None:
    held = paused(job(next_fire_at=at(10)))
    the_job, skips = edited(held, replace(held, name="weekly"), at(35))
    assert (the_job.name, the_job.next_fire_at, the_job.wake_at, skips) == ("weekly", at(10), None, ())
