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
_PLAIN_WORDS = {
    State.WAITING: "pending",
    State.RUNNING: "running",
    State.SUCCEEDED: "completed",
    State.DEAD: "failed",
    State.CANCELLED: "cancelled",
}
PLAIN_PENDING, PLAIN_RUNNING, PLAIN_COMPLETED, PLAIN_FAILED, PLAIN_CANCELLED, PLAIN_PAUSED = PLAIN_WORDS = (
    *_PLAIN_WORDS.values(),
    "paused",
)
"""What the dialects say; for a skipped moment they have no word."""


def execution_word(state: State) -> str:
    """What a run's state is called on the wire."""
    return _EXECUTION_WORDS[state]


def job_word(job: Job, run: Run | None) -> str:
    """What a job is called that shows *run*: a recurring one is scheduled as long as more moments come."""
    if job.state is JobState.PAUSED:
        return PAUSED
    if run is None or run.state in (State.WAITING, State.SKIPPED) or goes_on(job):
        return SCHEDULED
    return _EXECUTION_WORDS[run.state]


def plain_word(job: Job, run: Run | None) -> str:
    """What a job is called in the dialects: they show that a recurring one runs, or failed the last time."""
    if job.state is JobState.PAUSED:
        return PLAIN_PAUSED
    if run is None or (run.state is State.SUCCEEDED and goes_on(job)):
        return PLAIN_PENDING
    return plain_run_word(run.state)


def plain_run_word(state: State) -> str:
    """What a run's state is called in the dialects."""
    return _PLAIN_WORDS.get(state, PLAIN_PENDING)


def goes_on(job: Job) -> bool:
    """Whether more moments come by themselves."""
    return job.next_fire_at is not None and isinstance(job.terms.parsed(), Recurring)
