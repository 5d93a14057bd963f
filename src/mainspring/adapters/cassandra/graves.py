"""Letting go of the keys of jobs that were deleted long ago. The jobs themselves stay: their runs lead to them."""

from uuid import UUID

from mainspring.adapters.cassandra.abreast import abreast
from mainspring.adapters.cassandra.context import Context
from mainspring.adapters.cassandra.forgetting import Age, free_key
from mainspring.adapters.cassandra.jobs import find_job
from mainspring.adapters.cassandra.layout import micros
from mainspring.adapters.cassandra.owners import all_owners
from mainspring.adapters.cassandra.rows import ALL, Span
from mainspring.adapters.cassandra.tables import JOB_BY_OWNER
from mainspring.adapters.cassandra.values import identity
from mainspring.domain.job import JobState

_STEP = 50
"""Jobs that are looked at each time: nothing lists the deleted ones, so that all get their turn."""


class Graves:
    """Walks over all jobs, owner by owner, a few at a time, and then from the beginning again."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._owner = ""
        self._last: UUID | None = None

    async def free_keys(self, age: Age, limit: int) -> int:
        """Look at the next jobs; return how many keys were let go."""
        owners = sorted(await all_owners(self._context.rows))
        if not owners:
            return 0
        if self._owner not in owners:
            self._owner, self._last = owners[0], None
        span = ALL if self._last is None else Span(after=(self._last,))
        step = min(_STEP, limit)
        entries = await self._context.rows.slice(JOB_BY_OWNER, (self._owner,), span, limit=step)
        freed = await abreast(lambda row: self._free(identity(row, "id"), age), entries)
        if len(entries) < step:
            self._owner, self._last = owners[(owners.index(self._owner) + 1) % len(owners)], None
        else:
            self._last = identity(entries[-1], "id")
        return sum(freed)

    async def _free(self, job_id: UUID, age: Age) -> bool:
        stored = await find_job(self._context, job_id)
        if stored is None or stored.job.key is None or stored.job.state is not JobState.DELETED:
            return False
        old = micros(stored.job.updated_at) <= age.cut
        return old and await free_key(self._context, (stored.job.owner, stored.job.key), job_id, age)
