"""Incidents in a list, for tests of whoever tells them."""

from mainspring.domain.job import Job
from mainspring.domain.outcome import Verdict
from mainspring.domain.plan import Skip
from mainspring.domain.run import Attempt


class NotedIncidents:
    """`Incidents` that remembers each by the name of its method and what it was about."""

    def __init__(self) -> None:
        self.noted: list[tuple[str, object, object]] = []

    def failed(self, attempt: Attempt, verdict: Verdict) -> None:
        """As `Incidents.failed`."""
        self.noted.append(("failed", attempt.run_id, verdict.state))

    def stale(self, verdict: Verdict) -> None:
        """As `Incidents.stale`."""
        self.noted.append(("stale", verdict.run_id, verdict.state))

    def refused(self, verdict: Verdict, reason: str) -> None:
        """As `Incidents.refused`."""
        self.noted.append(("refused", verdict.run_id, reason))

    def clamped(self, attempt: Attempt, verdict: Verdict) -> None:
        """As `Incidents.clamped`."""
        self.noted.append(("clamped", attempt.run_id, verdict.delay))

    def skipped(self, job: Job, skip: Skip) -> None:
        """As `Incidents.skipped`."""
        self.noted.append(("skipped", job.id, skip.reason))

    def unplannable(self, job: Job, error: Exception) -> None:
        """As `Incidents.unplannable`."""
        self.noted.append(("unplannable", job.id, type(error)))
