from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import pytest

from mainspring.domain.ids import fired_run_id
from mainspring.domain.job import CatchUp, Overlap, Terms
from mainspring.domain.plan import Advance, DueJob, Skip, SkipReason, plan
from mainspring.domain.run import NewRun, State
from mainspring.errors import InvalidSchedule
from tests.unit.domain.factories import JOB, RUN, at, job, terms

# A job of every ten seconds, anchored at midnight: its moments are 10, 20, 30 … seconds after it.


def planned(the_terms: Terms, now: float, *, first: float = 10, active: State | None = None) -> Advance:
    active_run = None if active is None else RUN
    return plan(DueJob(job=job(the_terms, next_fire_at=at(first), active_run=active_run), active=active), at(now))


def moments_of(advance: Advance) -> list[datetime | timedelta]:
    return [run.due for run in advance.runs]


def skip(first: float, last: float, count: int | None, reason: SkipReason = SkipReason.MISFIRE) -> Skip:
    return Skip(job_id=JOB, first=at(first), last=at(last), count=count, reason=reason)


def test_a_moment_becomes_a_run_that_copies_what_its_job_says() -> None:
    advance = planned(terms(), 10)
    the_job = job()
    assert advance == Advance(
        job_id=JOB,
        expected_version=the_job.version,
        expected_fire_at=at(10),
        expected_active=None,
        next_fire_at=at(20),
        wake_at=at(20),
        active_run=fired_run_id(JOB, at(10)),
        runs=(
            NewRun(
                id=fired_run_id(JOB, at(10)),
                job_id=JOB,
                task=the_job.task,
                due=at(10),
                owner="ann",
                project="books",
                name="nightly",
            ),
        ),
    )


def test_a_late_tick_does_not_move_the_moments() -> None:
    advance = planned(terms(), 17.3)
    assert moments_of(advance) == [at(10)]
    assert advance.next_fire_at == at(20)


def test_a_first_moment_counts_even_if_the_schedule_would_not_produce_it() -> None:
    advance = planned(terms(), 21, first=3)
    assert moments_of(advance) == [at(3), at(10), at(20)]


def test_all_moments_within_the_grace_run() -> None:
    advance = planned(terms(grace=30), 40)
    assert moments_of(advance) == [at(10), at(20), at(30), at(40)]
    assert advance.active_run == fired_run_id(JOB, at(40))
    assert advance.skips == ()


def test_latest_skips_what_is_older_while_something_recent_runs() -> None:
    advance = planned(terms(grace=15), 50)
    assert moments_of(advance) == [at(40), at(50)]
    assert advance.skips == (skip(10, 30, 3),)


def test_latest_runs_the_newest_older_moment_if_none_is_recent() -> None:
    advance = planned(terms(grace=2), 55)
    assert moments_of(advance) == [at(50)]
    assert advance.skips == (skip(10, 40, 4),)


def test_latest_with_a_single_old_moment_skips_nothing() -> None:
    advance = planned(terms("@every 1h", grace=2), 5000, first=3600)
    assert moments_of(advance) == [at(3600)]
    assert advance.skips == ()


def test_none_skips_everything_older_than_the_grace() -> None:
    advance = planned(terms(grace=2, policy=CatchUp.NONE), 55)
    assert advance.runs == ()
    assert advance.skips == (skip(10, 50, 5),)
    assert advance.next_fire_at == at(60)
    assert advance.active_run is None


def test_none_still_runs_what_is_recent() -> None:
    advance = planned(terms(grace=20, policy=CatchUp.NONE), 55)
    assert moments_of(advance) == [at(40), at(50)]
    assert advance.skips == (skip(10, 30, 3),)


def test_all_runs_every_older_moment() -> None:
    advance = planned(terms(grace=0, policy=CatchUp.ALL), 55)
    assert moments_of(advance) == [at(10), at(20), at(30), at(40), at(50)]
    assert advance.skips == ()


def test_all_runs_at_most_the_newest_hundred_older_moments() -> None:
    advance = planned(terms(grace=0, policy=CatchUp.ALL), 1105)
    assert moments_of(advance) == [at(second) for second in range(110, 1101, 10)]
    assert advance.skips == (skip(10, 100, 10),)
    assert advance.next_fire_at == at(1110)


def test_one_advance_makes_at_most_a_hundred_runs_and_is_due_again_at_once() -> None:
    advance = planned(terms(grace=10_000), 1105)
    assert moments_of(advance) == [at(second) for second in range(10, 1001, 10)]
    assert advance.skips == ()
    assert advance.next_fire_at == advance.wake_at == at(1010)


def test_a_long_downtime_is_one_skip_that_nobody_counts() -> None:
    two_weeks = 14 * 24 * 3600
    advance = planned(terms("@every 5s"), two_weeks, first=5)
    assert len(advance.runs) == 13
    assert advance.skips == (skip(5, two_weeks - 65, None),)


def test_a_single_skipped_moment_is_a_range_of_one() -> None:
    advance = planned(terms(overlap=Overlap.SKIP), 10, active=State.RUNNING)
    assert advance.skips == (skip(10, 10, 1, SkipReason.OVERLAP),)


def test_exactly_a_hundred_skipped_moments_are_counted() -> None:
    assert planned(terms(grace=0, policy=CatchUp.NONE), 1005).skips == (skip(10, 1000, 100),)
    assert planned(terms(grace=0, policy=CatchUp.NONE), 1015).skips == (skip(10, 1010, None),)


def test_a_grace_longer_than_time_itself_is_no_error() -> None:
    assert moments_of(planned(terms(grace=timedelta.max.total_seconds() // 2), 20)) == [at(10), at(20)]


@pytest.mark.parametrize("ended", [None, State.SUCCEEDED, State.DEAD, State.CANCELLED])
@pytest.mark.parametrize("overlap", [Overlap.SKIP, Overlap.WAIT, Overlap.REPLACE])
def test_without_overlap_only_the_newest_moment_runs(overlap: Overlap, ended: State | None) -> None:
    advance = planned(terms(grace=25, overlap=overlap), 55, active=ended)
    assert moments_of(advance) == [at(50)]
    assert advance.skips == (skip(10, 20, 2), skip(30, 40, 2, SkipReason.OVERLAP))
    assert advance.next_fire_at == at(60)
    assert advance.cancel is None


def test_without_overlap_a_single_moment_skips_nothing() -> None:
    assert planned(terms(overlap=Overlap.SKIP), 10).skips == ()


@pytest.mark.parametrize("live", [State.WAITING, State.RUNNING])
def test_skip_passes_over_what_would_have_run_beside_the_active_run(live: State) -> None:
    advance = planned(terms(grace=25, overlap=Overlap.SKIP), 55, active=live)
    assert advance.runs == ()
    assert advance.skips == (skip(10, 20, 2), skip(30, 50, 3, SkipReason.OVERLAP))
    assert advance.active_run == RUN
    assert advance.next_fire_at == at(60)


def test_skip_counts_no_misfire_where_everything_is_recent() -> None:
    advance = planned(terms(overlap=Overlap.SKIP), 25, active=State.RUNNING)
    assert advance.skips == (skip(10, 20, 2, SkipReason.OVERLAP),)


def test_wait_decides_nothing_until_the_active_run_has_ended() -> None:
    advance = planned(terms(overlap=Overlap.WAIT), 25, active=State.RUNNING)
    assert (advance.runs, advance.skips, advance.cancel) == ((), (), None)
    assert advance.next_fire_at == advance.expected_fire_at == at(10)
    assert advance.look_again == timedelta(seconds=1)
    assert advance.wake_at == at(26)


def test_replace_asks_the_active_run_to_stop_and_looks_again_soon() -> None:
    advance = planned(terms(overlap=Overlap.REPLACE), 25, active=State.RUNNING)
    assert (advance.runs, advance.skips, advance.cancel) == ((), (), RUN)
    assert advance.next_fire_at == at(10)
    assert advance.look_again == timedelta(milliseconds=200)
    assert advance.wake_at == at(25.2)


@pytest.mark.parametrize("overlap", [Overlap.SKIP, Overlap.WAIT, Overlap.REPLACE])
def test_the_active_run_is_left_alone_where_nothing_would_follow_it(overlap: Overlap) -> None:
    advance = planned(terms(grace=2, policy=CatchUp.NONE, overlap=overlap), 55, active=State.RUNNING)
    assert (advance.cancel, advance.look_again) == (None, None)
    assert advance.skips == (skip(10, 50, 5),)


def test_a_job_without_further_moments_is_never_looked_at_again() -> None:
    last = job(terms("0 0 1 1 *"), next_fire_at=at(0).replace(year=9999))
    advance = plan(DueJob(job=last, active=None), at(0).replace(year=9999))
    assert moments_of(advance) == [at(0).replace(year=9999)]
    assert advance.next_fire_at is advance.wake_at is None


@pytest.mark.parametrize("next_fire_at", [None, at(11)])
def test_a_job_whose_moment_has_not_come_is_not_planned(next_fire_at: datetime | None) -> None:
    with pytest.raises(ValueError, match="has come"):
        plan(DueJob(job=job(next_fire_at=next_fire_at), active=None), at(10))


def test_a_schedule_that_does_not_recur_has_no_moments() -> None:
    with pytest.raises(InvalidSchedule, match="doesn't recur"):
        planned(terms("on-demand"), 10)


def lately(the_terms: Terms, now: float, lateness: float, **fields: Any) -> Advance:
    """What a scheduler decides that had looked *lateness* before, about a job to be looked at from *wake_at* on."""
    first, wake_at = at(fields.get("first", 10)), at(fields.get("wake_at", fields.get("first", 10)))
    the_job = job(the_terms, next_fire_at=first, active_run=RUN if "active" in fields else None)
    due = DueJob(job=replace(the_job, wake_at=wake_at), active=fields.get("active"))
    return plan(due, at(now), timedelta(seconds=lateness))


@pytest.mark.parametrize("policy", list(CatchUp))
@pytest.mark.parametrize("overlap", list(Overlap))
def test_a_moment_that_came_since_the_scheduler_looked_is_not_missed(policy: CatchUp, overlap: Overlap) -> None:
    advance = lately(terms(grace=0, policy=policy, overlap=overlap), 10.9, 1)
    assert (moments_of(advance), advance.skips) == ([at(10)], ())


def test_a_moment_that_came_before_is_missed_without_grace() -> None:
    strict = terms(grace=0, policy=CatchUp.NONE)
    assert lately(strict, 10.9, 0.8).skips == (skip(10, 10, 1),)
    assert planned(strict, 10.001).skips == (skip(10, 10, 1),)
    assert moments_of(planned(strict, 10)) == [at(10)]


def test_of_several_moments_those_since_the_scheduler_looked_run() -> None:
    advance = lately(terms("@every 1s", grace=0, policy=CatchUp.NONE), 14.5, 2, first=11)
    assert (moments_of(advance), advance.skips) == ([at(13), at(14)], (skip(11, 12, 2),))


def test_a_longer_grace_is_not_made_shorter() -> None:
    assert moments_of(lately(terms(grace=30), 40, 2)) == [at(10), at(20), at(30), at(40)]


@pytest.mark.parametrize("ended", [None, State.SUCCEEDED])
@pytest.mark.parametrize("overlap", [Overlap.WAIT, Overlap.REPLACE])
def test_what_waited_for_the_active_run_is_never_missed(overlap: Overlap, ended: State | None) -> None:
    strict = terms(grace=0, policy=CatchUp.NONE, overlap=overlap)
    advance = lately(strict, 35.5, 1, wake_at=35, active=ended)
    assert (moments_of(advance), advance.skips) == ([at(30)], (skip(10, 20, 2, SkipReason.OVERLAP),))


@pytest.mark.parametrize("overlap", [Overlap.WAIT, Overlap.REPLACE])
def test_what_waits_goes_on_waiting_while_the_active_run_lasts(overlap: Overlap) -> None:
    advance = lately(terms(grace=0, policy=CatchUp.NONE, overlap=overlap), 35.5, 1, wake_at=35, active=State.RUNNING)
    assert (advance.runs, advance.skips, advance.next_fire_at) == ((), (), at(10))
    assert advance.look_again is not None


@pytest.mark.parametrize("overlap", [Overlap.WAIT, Overlap.REPLACE])
def test_grace_covers_what_waited_for_as_long_as_no_scheduler_looked(overlap: Overlap) -> None:
    patient = terms(grace=5, policy=CatchUp.NONE, overlap=overlap)
    advance = lately(patient, 38, 0, wake_at=35, active=State.SUCCEEDED)
    assert (moments_of(advance), advance.skips) == ([at(30)], (skip(10, 20, 2, SkipReason.OVERLAP),))
    assert lately(patient, 46, 0, wake_at=35, active=State.SUCCEEDED).skips == (skip(10, 40, 4),)


def test_what_waited_while_no_scheduler_looked_is_missed_like_anything_else() -> None:
    strict = terms(grace=0, policy=CatchUp.NONE, overlap=Overlap.WAIT)
    assert lately(strict, 38, 2, wake_at=35, active=State.SUCCEEDED).skips == (skip(10, 30, 3),)
    assert lately(strict, 35.5, 0, wake_at=35, active=State.SUCCEEDED).skips == (skip(10, 30, 3),)


def test_a_job_that_could_not_be_planned_for_a_while_has_missed_what_came_meanwhile() -> None:
    advance = lately(terms(grace=0, policy=CatchUp.NONE), 35.5, 1, wake_at=35)
    assert advance.skips == (skip(10, 30, 3),)
