"""A log line for every attempt that begins and ends, where somebody wants to read so many."""

from mainspring.domain.outcome import Outcome
from mainspring.domain.run import Attempt
from mainspring.logs import get_logger
from mainspring.ports.observing import OUTCOME_WORDS, Observer

log = get_logger("mainspring.worker")


class ToldAttempts:
    """`Observer` that writes lines at the level debug, and has another count."""

    def __init__(self, counting: Observer) -> None:
        self._counting = counting

    def began(self, attempt: Attempt) -> None:
        """As `Observer.began`."""
        self._counting.began(attempt)
        log.debug("run.began", **_named(attempt))

    def ended(self, attempt: Attempt, outcome: Outcome, seconds: float) -> None:
        """As `Observer.ended`."""
        self._counting.ended(attempt, outcome, seconds)
        log.debug("run.ended", **_named(attempt), outcome=OUTCOME_WORDS[type(outcome)], seconds=round(seconds, 3))

    def refused(self, count: int) -> None:
        """As `Observer.refused`."""
        self._counting.refused(count)

    def exhausted(self, lack: str) -> None:
        """As `Observer.exhausted`."""
        self._counting.exhausted(lack)

    def unreadable(self) -> None:
        """As `Observer.unreadable`."""
        self._counting.unreadable()


def _named(attempt: Attempt) -> dict[str, object]:
    return {
        "job": str(attempt.job_id),
        "run": str(attempt.run_id),
        "handler": attempt.task.handler,
        "attempt": attempt.attempt,
        "token": attempt.fence,
    }
