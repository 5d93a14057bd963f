"""What people do to a standing job's timetable: start, pause, resume, edit and delete it.

Each returns the job as it is to be stored by `Timetable.save`, which sets version and time of the change. A paused
job keeps its next moment, so that resuming it can say what was skipped; only `wake_at` makes the planner look.
"""

from dataclasses import replace
from datetime import datetime, timedelta

from mainspring.domain.ids import moment_of
from mainspring.domain.job import Job, JobState
from mainspring.domain.moments import TICK, Moments, recurring
from mainspring.domain.plan import Skip, SkipReason, skipped
from mainspring.domain.schedule import Every, OnDemand
from mainspring.domain.schedule.instant import format_instant
from mainspring.errors import InvalidSchedule

_RESOLUTION_OF_IDS = timedelta(milliseconds=1)


def scheduled(job: Job, now: datetime) -> Job:
    """A new or changed *job* with its first moment as the next."""
    return _waiting_for(first_moment(job, now), job)


def started(job: Job, now: datetime) -> Job:
    """A new *job* whose first moment is its start, whether its schedule says so or not; one that has passed is now."""
    first = now if job.terms.starts_at is None else max(job.terms.starts_at, now)
    return _waiting_for(first, replace(job, terms=replace(job.terms, starts_at=first)))


def first_moment(job: Job, now: datetime) -> datetime | None:
    """The first moment after *now* and not before the job's start; None for a job on demand.

    A schedule that has none is refused: there is no 29 February after 9996, and no moment after 9999.

    A start in the future is where an interval's first run is, not one period later; a cron expression waits for its
    first match from there on. A start in the past only anchors an interval: nothing is made up for.
    """
    if isinstance(job.terms.parsed(), OnDemand):
        return None
    schedule, start = recurring(job), job.terms.starts_at
    if start is not None and start > now:
        first = start if isinstance(schedule, Every) else schedule.next(start - TICK, anchor=job.anchor)
    else:
        first = schedule.next(now, anchor=job.anchor)
    if first is None:
        since = now if start is None else max(start, now)
        text = job.terms.schedule
        error = InvalidSchedule(f"never fires: no moment of {text!r} comes after {format_instant(since)}", text=text)
        error.field = "schedule" if start is None else "starts_at"
        raise error
    return first


def paused(job: Job) -> Job:
    """The job, firing nothing until it is resumed."""
    return replace(job, state=JobState.PAUSED, wake_at=None)


def resumed(job: Job, now: datetime) -> tuple[Job, tuple[Skip, ...]]:
    """The job, firing again after *now*; the moments that came meanwhile are skipped. An active job stays as it is."""
    if job.state is not JobState.PAUSED:
        return job, ()
    active = replace(job, state=JobState.ACTIVE)
    missed = _missed(job, now, SkipReason.PAUSED)
    if not missed:
        return _waiting_for(job.next_fire_at, active), ()
    return _waiting_for(recurring(job).next(missed[0].last, anchor=job.anchor), active), missed


def edited(job: Job, changed: Job, now: datetime) -> tuple[Job, tuple[Skip, ...]]:
    """*changed*, which is *job* with other content, at its place in the timetable.

    If its moments change, those of the old ones that have come without a verdict are skipped, and the new ones begin
    after now. Otherwise the next moment stays.
    """
    if _timing(changed) == _timing(job):
        kept = _waiting_for(job.next_fire_at, changed)
        return replace(kept, wake_at=_sooner(kept.wake_at, job, now)), ()
    # A store's clock that was set back must not bring back moments that have been fired.
    since = now if job.active_run is None else max(now, moment_of(job.active_run) + _RESOLUTION_OF_IDS)
    reason = SkipReason.PAUSED if job.state is JobState.PAUSED else SkipReason.EDITED
    return scheduled(changed, since), _missed(job, now, reason)


def deleted(job: Job) -> Job:
    """The job, gone from the timetable for good."""
    return replace(job, state=JobState.DELETED, next_fire_at=None, wake_at=None)


def _waiting_for(moment: datetime | None, job: Job) -> Job:
    return replace(job, next_fire_at=moment, wake_at=moment if job.state is JobState.ACTIVE else None)


def _sooner(moment: datetime | None, job: Job, now: datetime) -> datetime | None:
    """When to look at *moment*: at once where *job* was put off, as what has changed may let it run.

    No earlier, lest what was put off look like what was missed.
    """
    if moment is None or job.wake_at is None:
        return moment
    return min(job.wake_at, max(moment, now))


def _missed(job: Job, now: datetime, reason: SkipReason) -> tuple[Skip, ...]:
    """One verdict on the moments that have come, if any has."""
    if job.next_fire_at is None or job.next_fire_at > now:
        return ()
    moments = Moments.of(job, job.next_fire_at)
    return (skipped(job, moments, moments.newest(now), reason),)


def _timing(job: Job) -> tuple[object, ...]:
    terms = job.terms
    return terms.schedule, terms.timezone, terms.starts_at, terms.dst
