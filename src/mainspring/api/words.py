"""The one place that decides status words."""

from mainspring.domain.job import Job, JobState
from mainspring.domain.run import Run, State
from mainspring.domain.schedule import Recurring

SCHEDULED, RUNNING, COMPLETED, FAILED, CANCELLED, PAUSED = JOB_WORDS = (
    "SCHEDULED",
    "RUNNING",
    "COMPLETED",
    "FAILED",
    "CANCELLED",
    "PAUSED",
)
_EXECUTION_WORDS = {
    State.WAITING: "PENDING",
    State.RUNNING: "RUNNING",
    State.SUCCEEDED: "COMPLETED",
    State.DEAD: "FAILED",
    State.CANCELLED: "CANCELLED",
    State.SKIPPED: "SKIPPED",
}
EXECUTION_STATES = {word: state for state, word in _EXECUTION_WORDS.items()}


def execution_word(state: State) -> str:
    """What a run's state is called on the wire."""
    return _EXECUTION_WORDS[state]


def job_word(job: Job, run: Run | None) -> str:
    """What a job is called that shows *run*: a recurring one is scheduled as long as more moments come."""
    if job.state is JobState.PAUSED:
        return PAUSED
    if run is None or run.state in (State.WAITING, State.SKIPPED) or _goes_on(job):
        return SCHEDULED
    return _EXECUTION_WORDS[run.state]


def _goes_on(job: Job) -> bool:
    return job.next_fire_at is not None and isinstance(job.terms.parsed(), Recurring)
