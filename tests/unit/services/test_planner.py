from dataclasses import replace
from datetime import timedelta
from uuid import UUID

import pytest

from mainspring.domain.ids import JobId, Lane
from mainspring.domain.job import CatchUp, Job, Misfire, Terms
from mainspring.domain.plan import LOOK_AGAIN_LATER, DueJob, SkipReason
from mainspring.domain.task import Task
from mainspring.errors import StoreError
from mainspring.ports.signals import TIMETABLE
from mainspring.services.planner import POLL, Planner
from tests.unit.incidents import NotedIncidents
from tests.unit.services.fakes import (
    MIDNIGHT,
    FakeClock,
    FakeRandom,
    FakeSignals,
    FakeTimetable,
    everything,
    nothing,
    seconds,
)


@pytest.fixture
def clock() -> FakeClock:
    clock = FakeClock()
    clock.elapsed = seconds(10)
    return clock


@pytest.fixture
def signals(clock: FakeClock) -> FakeSignals:
    return FakeSignals(clock)


@pytest.fixture
def timetable(clock: FakeClock) -> FakeTimetable:
    return FakeTimetable(clock)


@pytest.fixture
def incidents() -> NotedIncidents:
    return NotedIncidents()


@pytest.fixture
def planner(timetable: FakeTimetable, signals: FakeSignals, clock: FakeClock, incidents: NotedIncidents) -> Planner:
    return Planner(timetable, signals, clock, FakeRandom(), owns=everything, incidents=incidents)


def due(number: int = 1, *, schedule: str = "@every 10s", lane: str = "default", has_moment: bool = True) -> DueJob:
    """A job that was created at midnight, ten seconds ago, and has its first moment now."""
    job = Job(
        id=JobId(UUID(int=number)),
        task=Task(handler="report", lane=Lane(lane)),
        created_at=MIDNIGHT,
        updated_at=MIDNIGHT,
        terms=Terms(schedule=schedule),
        next_fire_at=MIDNIGHT + seconds(10) if has_moment else None,
    )
    return DueJob(job=job, active=None)


async def test_what_is_due_is_fired_and_its_lanes_are_told(
    planner: Planner, timetable: FakeTimetable, signals: FakeSignals
) -> None:
    timetable.script.append(([due(1), due(2, lane="mail"), due(3)], None))
    await planner.step()
    assert [len(advance.runs) for advance in timetable.fired] == [1, 1, 1]
    assert signals.notified == [("work/default", "work/mail")]


async def test_nobody_is_told_about_a_fire_that_lost(
    planner: Planner, timetable: FakeTimetable, signals: FakeSignals
) -> None:
    timetable.script.append(([due(1), due(2, lane="mail")], None))
    timetable.refused = [JobId(UUID(int=1))]
    await planner.step()
    assert signals.notified == [("work/mail",)]


async def test_an_empty_timetable_is_looked_at_again_after_a_second(
    planner: Planner, timetable: FakeTimetable, signals: FakeSignals
) -> None:
    assert await planner.step() == POLL
    assert (timetable.fired, signals.notified) == ([], [])


async def test_how_long_the_planner_sleeps_at_most_can_be_said(
    timetable: FakeTimetable, signals: FakeSignals, clock: FakeClock
) -> None:
    planner = Planner(timetable, signals, clock, FakeRandom(), owns=everything, poll=seconds(0.2))
    assert await planner.step() == seconds(0.2)
    timetable.script.append(((), seconds(60)))
    assert await planner.step() == seconds(0.2)


@pytest.mark.parametrize(
    ("next_in", "wait"), [(seconds(0.3), seconds(0.3)), (seconds(60), POLL), (timedelta(0), timedelta(0))]
)
async def test_the_planner_sleeps_to_the_next_job_but_never_for_long(
    planner: Planner, timetable: FakeTimetable, next_in: timedelta, wait: timedelta
) -> None:
    timetable.script.append(((), next_in))
    assert await planner.step() == wait


async def test_the_next_moment_of_a_fired_job_is_not_slept_through(
    planner: Planner, timetable: FakeTimetable, clock: FakeClock
) -> None:
    clock.elapsed = seconds(10.75)
    timetable.script.append(([due(schedule="@every 1s")], seconds(5)))
    assert await planner.step() == seconds(0.25)


async def test_the_time_that_firing_takes_is_not_slept_again(planner: Planner, timetable: FakeTimetable) -> None:
    timetable.fire_takes = seconds(0.25)
    timetable.script.append(([due(schedule="@every 1s")], seconds(0.5)))
    assert await planner.step() == seconds(0.25)
    timetable.fire_takes = seconds(7)
    timetable.script.append(([due(schedule="@every 1s")], seconds(0.5)))
    assert await planner.step() == timedelta(0)


async def test_a_job_without_further_moments_is_fired_like_any_other(
    planner: Planner, timetable: FakeTimetable, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mainspring.domain.moments.Moments.after", lambda _self, _moment: None)
    timetable.script.append(([due()], None))
    assert await planner.step() == POLL
    assert timetable.fired[0].wake_at is None


async def test_a_job_that_cannot_be_planned_is_put_off_and_the_others_fire(
    planner: Planner, timetable: FakeTimetable, incidents: NotedIncidents
) -> None:
    timetable.script.append(([due(1, schedule="* * * *"), due(2)], None))
    await planner.step()
    broken, other = timetable.fired
    assert (broken.runs, broken.next_fire_at, broken.look_again) == ((), broken.expected_fire_at, LOOK_AGAIN_LATER)
    assert len(other.runs) == 1
    assert [(what, job) for what, job, _ in incidents.noted] == [("unplannable", UUID(int=1))]


async def test_what_is_skipped_is_told_by_whoever_won_the_fire(
    planner: Planner, timetable: FakeTimetable, clock: FakeClock, incidents: NotedIncidents
) -> None:
    clock.elapsed = seconds(3_600)
    timetable.script.append(([due(1), due(2)], None))
    timetable.refused = [JobId(UUID(int=2))]
    await planner.step()
    assert incidents.noted == [("skipped", UUID(int=1), SkipReason.MISFIRE)]


async def test_a_due_job_without_a_moment_is_put_off_too(planner: Planner, timetable: FakeTimetable) -> None:
    timetable.script.append(([due(has_moment=False)], None))
    await planner.step()
    assert timetable.fired[0].look_again == LOOK_AGAIN_LATER


async def test_only_the_owner_of_the_timetable_plans(
    timetable: FakeTimetable, signals: FakeSignals, clock: FakeClock
) -> None:
    idle = Planner(timetable, signals, clock, FakeRandom(), owns=nothing)
    assert await idle.step() == POLL
    assert timetable.limits == []


async def test_a_planner_plans_for_the_shards_that_it_owns_at_that_moment(
    timetable: FakeTimetable, signals: FakeSignals, clock: FakeClock
) -> None:
    owned = {"timetable/0", "timetable/2", "timetable/4"}
    planner = Planner(timetable, signals, clock, FakeRandom(), owns=owned.__contains__, shards=4)
    await planner.step()
    owned.add("timetable/3")
    await planner.step()
    assert timetable.shards == [frozenset({0, 2}), frozenset({0, 2, 3})]


def strict(at: float, number: int = 1, shard: int = 0) -> DueJob:
    """A job that runs in time or not at all, whose moment was *at* seconds after midnight."""
    job = due(number).job
    misfire = Misfire(grace=timedelta(0), policy=CatchUp.NONE)
    moment = MIDNIGHT + seconds(at)
    return DueJob(
        job=replace(
            job,
            created_at=moment - seconds(10),
            terms=replace(job.terms, misfire=misfire),
            next_fire_at=moment,
            wake_at=moment,
        ),
        active=None,
        shard=shard,
    )


async def fired(planner: Planner, timetable: FakeTimetable, at: float, *jobs: DueJob) -> list[bool]:
    """Whether each of *jobs*, which the planner finds due at that time, is to run."""
    timetable.clock.elapsed = seconds(at) - timetable.ahead
    timetable.script.append((jobs, None))
    timetable.fired.clear()
    await planner.step()
    return [bool(advance.runs) for advance in timetable.fired]


async def test_what_came_since_the_planner_looked_is_not_missed(planner: Planner, timetable: FakeTimetable) -> None:
    await fired(planner, timetable, 10)
    assert await fired(planner, timetable, 10.9, strict(10.3)) == [True]
    assert await fired(planner, timetable, 11.5, strict(10.8), strict(11.2, 2)) == [False, True]


async def test_a_planner_that_has_just_begun_has_missed_all_that_is_late(
    planner: Planner, timetable: FakeTimetable
) -> None:
    assert await fired(planner, timetable, 10.001, strict(10), strict(10.001, 2)) == [False, True]


@pytest.mark.parametrize(("poll", "latest"), [(0.2, 1), (1, 2), (4, 8)])
async def test_a_planner_is_excused_for_a_second_or_twice_its_sleep(
    timetable: FakeTimetable, signals: FakeSignals, clock: FakeClock, poll: float, latest: float
) -> None:
    planner = Planner(timetable, signals, clock, FakeRandom(), owns=everything, poll=seconds(poll))
    await fired(planner, timetable, 10)
    jobs = strict(100 - latest), strict(100 - latest - 0.001, 2)
    assert await fired(planner, timetable, 100, *jobs) == [True, False]


async def test_what_a_look_left_over_is_not_missed_at_the_next(planner: Planner, timetable: FakeTimetable) -> None:
    await fired(planner, timetable, 10)
    timetable.clock.elapsed = seconds(10.5)
    timetable.script.append(([strict(10.4)], timedelta(0)))
    await planner.step()
    assert await fired(planner, timetable, 10.6, strict(10.4, 2)) == [True]
    assert await fired(planner, timetable, 10.7, strict(10.4, 3)) == [False]


async def test_what_lost_against_an_edit_or_met_a_store_that_was_away_is_not_missed_at_the_next_look(
    planner: Planner, timetable: FakeTimetable
) -> None:
    await fired(planner, timetable, 10)
    timetable.refused = [JobId(UUID(int=1))]
    await fired(planner, timetable, 10.5, strict(10.4))
    timetable.refused = []
    timetable.away = True
    with pytest.raises(StoreError):
        await fired(planner, timetable, 10.6, strict(10.4))
    timetable.away = False
    assert await fired(planner, timetable, 10.7, strict(10.4)) == [True]


async def test_what_comes_after_a_first_look_that_left_something_over_is_not_missed(
    planner: Planner, timetable: FakeTimetable
) -> None:
    timetable.refused = [JobId(UUID(int=1))]
    for at in (10, 11):
        timetable.clock.elapsed = seconds(at)
        timetable.script.append(([strict(at)], timedelta(0)))
        await planner.step()
    assert await fired(planner, timetable, 11.5, strict(11.4, 2), strict(9.9, 3)) == [True, False]


async def test_what_comes_after_a_first_look_that_met_a_store_that_was_away_is_not_missed(
    planner: Planner, timetable: FakeTimetable
) -> None:
    timetable.away = True
    with pytest.raises(StoreError):
        await fired(planner, timetable, 10, strict(10))
    timetable.away = False
    assert await fired(planner, timetable, 10.5, strict(10.4), strict(9.9, 2)) == [True, False]


async def test_a_shard_that_was_taken_over_has_not_been_watched(
    timetable: FakeTimetable, signals: FakeSignals, clock: FakeClock
) -> None:
    owned = {"timetable/0"}
    planner = Planner(timetable, signals, clock, FakeRandom(), owns=owned.__contains__, shards=2)
    await fired(planner, timetable, 10)
    owned.add("timetable/1")
    assert await fired(planner, timetable, 10.5, strict(10.4), strict(10.4, 2, shard=1)) == [True, False]
    assert await fired(planner, timetable, 11, strict(10.9), strict(10.9, 2, shard=1)) == [True, True]


@pytest.mark.parametrize("jump", [-3600, 3600])
async def test_a_store_whose_clock_is_set_makes_no_moment_missed(
    planner: Planner, timetable: FakeTimetable, jump: float
) -> None:
    await fired(planner, timetable, 5000)
    timetable.ahead = seconds(jump)
    jobs = strict(5000 + jump + 0.2), strict(5000 + jump - 3, 2)
    assert await fired(planner, timetable, 5000 + jump + 0.5, *jobs) == [True, False]


async def test_a_change_of_the_timetable_wakes_the_planner(
    planner: Planner, timetable: FakeTimetable, signals: FakeSignals, clock: FakeClock
) -> None:
    signals.pending = 1
    timetable.script.extend([((), seconds(0.5)), ((), seconds(0.5))])
    await planner.run(clock.stop_at_nap(1))
    assert signals.waited == [((TIMETABLE,), seconds(0.5))] * 2
    assert clock.slept == [seconds(0.5)]
    assert timetable.limits == [200, 200]
