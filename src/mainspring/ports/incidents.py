"""What goes wrong with executions, told to whoever writes the log: a metric counts, and a line says which and why."""

from typing import Protocol

from mainspring.domain.job import Job
from mainspring.domain.outcome import Verdict
from mainspring.domain.plan import Skip
from mainspring.domain.run import Attempt


class Incidents(Protocol):
    """Called in the loop, and in a storm for thousands of executions a second: it must be quick, and must not fail."""

    def failed(self, attempt: Attempt, verdict: Verdict) -> None:
        """The attempt failed or was lost; *verdict* says what follows: another try, or the list of dead letters."""
        ...

    def stale(self, verdict: Verdict) -> None:
        """An outcome changed nothing: another worker has taken the execution since, or it has ended."""
        ...

    def refused(self, verdict: Verdict, reason: str) -> None:
        """The store doesn't take this outcome, though it takes others: it is kept, and offered again."""
        ...

    def clamped(self, attempt: Attempt, verdict: Verdict) -> None:
        """The handler asked for a longer wait than there can be: *verdict* has the longest."""
        ...

    def skipped(self, job: Job, skip: Skip) -> None:
        """Fire times of *job* passed without an execution."""
        ...

    def unplannable(self, job: Job, error: Exception) -> None:
        """The job's next fire time can't be found out; it is looked at again later, and others fire."""
        ...


class Untold:
    """Nobody is told."""

    def failed(self, attempt: Attempt, verdict: Verdict) -> None:
        """As `Incidents.failed`."""

    def stale(self, verdict: Verdict) -> None:
        """As `Incidents.stale`."""

    def refused(self, verdict: Verdict, reason: str) -> None:
        """As `Incidents.refused`."""

    def clamped(self, attempt: Attempt, verdict: Verdict) -> None:
        """As `Incidents.clamped`."""

    def skipped(self, job: Job, skip: Skip) -> None:
        """As `Incidents.skipped`."""

    def unplannable(self, job: Job, error: Exception) -> None:
        """As `Incidents.unplannable`."""
