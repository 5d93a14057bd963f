"""When to try again: a pure function of the policy and of how often a run has failed."""

from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum
from typing import assert_never

MAX_RETRIES = 1000
"""What anybody may ask for."""
MAX_LOSSES = 3
"""The third loss in a row that is charged ends a run: a payload that kills every worker must not do so for ever."""

LONGEST_DELAY = timedelta(days=3650)
"""Ten years: nobody who asks for a longer wait means it, and every store and every reader can tell this one's end."""

_ENOUGH_DOUBLINGS = 64


class Backoff(StrEnum):
    """How the delay grows from one failure to the next."""

    EXPONENTIAL = "exponential"
    FIXED = "fixed"


@dataclass(frozen=True, slots=True, kw_only=True)
class RetryPolicy:
    """How often and how patiently a run is tried again after a failure."""

    max_retries: int = 3
    kind: Backoff = Backoff.EXPONENTIAL
    initial: timedelta = timedelta(seconds=1)
    maximum: timedelta = timedelta(seconds=60)
    jitter: float = 0.0
    """Up to this part of the delay is added, never taken away: the gap is at least the backoff."""

    def exhausted_by(self, failures: int) -> bool:
        """Whether this many failed attempts use the budget up: at most max_retries + 1 may fail."""
        return failures > self.max_retries

    def delay_after(self, failures: int, uniform: float = 0.0) -> timedelta:
        """The wait after the *failures*-th failed attempt; *uniform* in [0, 1) draws the jitter."""
        delay = min(self._backoff(failures), LONGEST_DELAY)
        return delay + delay * self.jitter * uniform

    def _backoff(self, failures: int) -> timedelta:
        match self.kind:
            case Backoff.FIXED:
                return min(self.initial, self.maximum)
            case Backoff.EXPONENTIAL:
                doublings = min(failures - 1, _ENOUGH_DOUBLINGS)
                seconds = self.initial.total_seconds() * 2**doublings
                return timedelta(seconds=min(seconds, min(self.maximum, LONGEST_DELAY).total_seconds()))
            case _:
                assert_never(self.kind)


DEFAULT_RETRY = RetryPolicy()
"""Shared by all tasks that say nothing about it."""
