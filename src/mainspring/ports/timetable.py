"""Standing jobs and the firing of their moments."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Protocol

from mainspring.domain.ids import Version
from mainspring.domain.job import Job
from mainspring.domain.plan import Advance, DueJob, Skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Due:
    """What the planner has to look at."""

    jobs: Sequence[DueJob]
    now: datetime
    """The store's clock: the only one that `plan` may compare with."""
    next_in: timedelta | None
    """The wait until the next job; zero while more than the limit are due, None if nothing is planned."""


class Timetable(Protocol):
    """Compare-and-set on the job's row carries every decision; repeating one changes nothing."""

    async def save(self, job: Job, expected: Version, skips: Sequence[Skip] = ()) -> Job:
        """Edit, pause, resume or delete at the expected version, or raise VersionConflict; afterwards no older fire is pending.

        The stored job, which is returned, has the next version. NotFound if there is no such job.
        """
        ...

    async def due(self, limit: int) -> Due:
        """Active jobs whose wake time has come, longest waiting first."""
        ...

    async def fire(self, advances: Sequence[Advance]) -> Sequence[bool]:
        """Apply each advance whole, once, if its job is still as expected and its moment has come by the store's clock."""
        ...
