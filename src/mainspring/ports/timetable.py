"""Standing jobs and the firing of their moments."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Protocol

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

    async def save(self, job: Job, expected: Job, skips: Sequence[Skip] = ()) -> Job:
        """Edit, pause, resume or delete what was read as *expected*, or raise VersionConflict; no older fire follows.

        Compared are the version and the next fire time: a tick in between is a conflict too, and since it leaves the
        version alone, a caller can tell it from somebody else's edit and try again. The stored job, which is
        returned, has the next version; *active_run*, which firing owns, is left as the store has it. NotFound if
        there is no such job.
        """
        ...

    async def due(self, limit: int, shards: frozenset[int] | None = None) -> Due:
        """Active jobs whose wake time has come, longest waiting first; only those of *shards*, if some are named.

        A job stays in its shard, which is said beside it. Stores whose timetable isn't split have one, number 0.
        """
        ...

    async def fire(self, advances: Sequence[Advance]) -> Sequence[bool]:
        """Apply each advance whole, once, if its job is as expected and its moment has come by the store's clock."""
        ...
