"""The timetable's decisions as data. `plan` alone decides misfire and overlap; whoever applies an advance copies it."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum

from mainspring.domain.ids import JobId, RunId, Version
from mainspring.domain.job import Job
from mainspring.domain.run import NewRun, State


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
