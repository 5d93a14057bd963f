"""The timetable's decisions as data. `plan` alone decides misfire and overlap; whoever applies an advance copies it."""

from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from enum import StrEnum
from itertools import islice

from mainspring.domain.ids import JobId, RunId, Version, fired_run_id
from mainspring.domain.job import CatchUp, Job, Overlap
from mainspring.domain.moments import TICK, Moments
from mainspring.domain.run import NewRun, State

MAX_RUNS = 100
"""One advance makes no more runs than this, and `all` catches up with no more older moments."""

LOOK_AGAIN = timedelta(seconds=1)
"""While a run is waited for; its end tells nobody."""
LOOK_AGAIN_SOON = timedelta(milliseconds=200)
"""While a run that was told to stop is waited for."""
LOOK_AGAIN_LATER = timedelta(minutes=1)
"""While a job can't be planned at all."""


class SkipReason(StrEnum):
    """Why moments got no run."""

    MISFIRE = "misfire"
    OVERLAP = "overlap"
    PAUSED = "paused"
    EDITED = "edited"


@dataclass(frozen=True, slots=True, kw_only=True)
class Skip:
    """All moments of a job from *first* to *last* got no run, for one reason; one row, however many they are."""

    job_id: JobId
    first: datetime
    last: datetime
    count: int | None
    """None where counting would have meant enumerating too many."""
    reason: SkipReason


@dataclass(frozen=True, slots=True, kw_only=True)
class DueJob:
    """A job whose moment has come, with the state of its active run (None if it has none, or it is gone)."""

    job: Job
    active: State | None
    shard: int = 0
    """Where the timetable has it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Advance:
    """One job's next step, applied whole or not at all, and only if the job is still as expected."""

    job_id: JobId
    expected_version: Version
    expected_fire_at: datetime
    expected_active: RunId | None
    next_fire_at: datetime | None
    wake_at: datetime | None
    active_run: RunId | None
    runs: tuple[NewRun, ...] = ()
    skips: tuple[Skip, ...] = ()
    cancel: RunId | None = None
    """The active run, where it is to be replaced: cancelled if it waits, flagged if it runs."""
    look_again: timedelta | None = None
    """Set when nothing was decided yet because the active run hasn't ended; *wake_at* is then from the store's now."""


def plan(due: DueJob, now: datetime, lateness: timedelta = timedelta(0)) -> Advance:
    """Decide every moment from the job's next one, which has come, to *now* by the store's clock.

    What is to run are always the newest moments: whatever lies before them was missed by too much. So an advance is
    a skipped range and then runs, and nothing but the runs is ever enumerated.

    *lateness* is the scheduler's own, and excuses every moment that is no later: how long ago it had looked before, as
    far as that counts; zero if it hadn't.
    """
    job = due.job
    if job.next_fire_at is None or job.next_fire_at > now:
        raise ValueError(f"no moment of job {job.id} has come: its next is {job.next_fire_at}, and it is {now}")
    moments = Moments.of(job, job.next_fire_at)
    newest = moments.newest(now)
    start = moments.first if _was_put_off(job, now, lateness) else _first_to_run(job, moments, newest, now, lateness)
    if start is None:
        # Asked before overlap: nothing is cancelled or waited for where nothing is to take its place.
        return _decided(job, moments, newest, skips=(skipped(job, moments, newest, SkipReason.MISFIRE),))
    missed = _skipped_before(start, job, moments, SkipReason.MISFIRE)
    to_run = moments.since(start)
    if job.terms.overlap is Overlap.ALLOW:
        fired = tuple(islice(to_run.up_to(newest), MAX_RUNS))
        return _decided(job, moments, fired[-1], runs=fired, skips=missed)
    if due.active is None or due.active.terminal:
        passed_over = _skipped_before(newest, job, to_run, SkipReason.OVERLAP)
        return _decided(job, moments, newest, runs=(newest,), skips=missed + passed_over)
    if job.terms.overlap is Overlap.SKIP:
        return _decided(job, moments, newest, skips=(*missed, skipped(job, to_run, newest, SkipReason.OVERLAP)))
    if job.terms.overlap is Overlap.REPLACE:
        return replace(_undecided(job, moments.first, now, LOOK_AGAIN_SOON), cancel=job.active_run)
    return _undecided(job, moments.first, now, LOOK_AGAIN)


def postponed(due: DueJob, now: datetime) -> Advance:
    """Decide nothing for a job that `plan` can't plan, and keep it from standing before the others meanwhile."""
    return _undecided(due.job, due.job.next_fire_at or now, now, LOOK_AGAIN_LATER)


def skipped(job: Job, moments: Moments, last: datetime, reason: SkipReason) -> Skip:
    """One verdict on all *moments* up to *last*, which is one of them."""
    return Skip(job_id=job.id, first=moments.first, last=last, count=moments.count(last), reason=reason)


def _skipped_before(moment: datetime, job: Job, moments: Moments, reason: SkipReason) -> tuple[Skip, ...]:
    last = moments.before(moment)
    return () if last is None else (skipped(job, moments, last, reason),)


def _was_put_off(job: Job, now: datetime, lateness: timedelta) -> bool:
    """Whether the job's moments waited for its active run all the time, and a scheduler looks again as one meant to.

    Nothing was missed then, however long that run took; and what is late is that look alone.
    """
    waits = job.terms.overlap in {Overlap.WAIT, Overlap.REPLACE} and job.active_run is not None
    return waits and job.wake_at is not None and now - job.wake_at <= max(job.terms.misfire.grace, lateness)


def _first_to_run(job: Job, moments: Moments, newest: datetime, now: datetime, lateness: timedelta) -> datetime | None:
    """The oldest moment that misfire lets run, with all that follow it; None if *newest* is too old as well."""
    misfire = job.terms.misfire
    grace = max(misfire.grace, lateness)
    if now - moments.first <= grace:
        return moments.first
    cutoff = now - grace
    if misfire.policy is CatchUp.ALL:
        return _reaching_back(moments, cutoff)
    recent = moments.after(cutoff - TICK)
    if recent is not None and recent <= newest:
        return recent
    return newest if misfire.policy is CatchUp.LATEST else None


def _reaching_back(moments: Moments, cutoff: datetime) -> datetime:
    """The oldest of the newest `MAX_RUNS` moments before *cutoff*, of which the first is one."""
    start = cutoff
    for _ in range(MAX_RUNS):
        earlier = moments.before(start)
        if earlier is None:
            break
        start = earlier
    return start


def _decided(
    job: Job, moments: Moments, last: datetime, *, runs: tuple[datetime, ...] = (), skips: tuple[Skip, ...] = ()
) -> Advance:
    """Everything up to *last* has its verdict; what follows is still due if it has come."""
    following = moments.after(last)
    return Advance(
        job_id=job.id,
        expected_version=job.version,
        expected_fire_at=moments.first,
        expected_active=job.active_run,
        next_fire_at=following,
        wake_at=following,
        active_run=fired_run_id(job.id, runs[-1]) if runs else job.active_run,
        runs=tuple(_run(job, moment) for moment in runs),
        skips=skips,
    )


def _undecided(job: Job, first: datetime, now: datetime, look_again: timedelta) -> Advance:
    """Everything stays as it is; what has come by the next look is decided then."""
    return Advance(
        job_id=job.id,
        expected_version=job.version,
        expected_fire_at=first,
        expected_active=job.active_run,
        next_fire_at=first,
        wake_at=now + look_again,
        active_run=job.active_run,
        look_again=look_again,
    )


def _run(job: Job, moment: datetime) -> NewRun:
    return NewRun(
        id=fired_run_id(job.id, moment),
        job_id=job.id,
        task=job.task,
        due=moment,
        owner=job.owner,
        project=job.project,
        name=job.name,
    )
