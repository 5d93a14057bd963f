"""Changes, from a list of everything that ever changed."""

from collections import Counter
from collections.abc import Mapping, Sequence
from uuid import UUID

from mainspring.domain.ids import JobId, RunId
from mainspring.ports.changes import MOST_BEHIND, MOST_RUNNING, Batch, Count, JobChange, Position, RunChange
from mainspring.testing.model.tables import Tables


class MemoryChanges:
    """The `Changes` port."""

    def __init__(self, tables: Tables) -> None:
        self._tables = tables

    async def position(self) -> Position:
        """The length of the list."""
        return Position(str(len(self._tables.changed)))

    async def since(self, position: Position, *, most: int, watched: Sequence[JobId] = ()) -> Batch | None:
        """What stands behind *position* in the list."""
        seen = int(position) if position.isdecimal() else -1
        fresh = self._tables.changed[max(seen, 0) :]
        if not 0 <= seen <= len(self._tables.changed) or len(fresh) > MOST_BEHIND or self._forgotten(fresh):
            return None
        latest: list[UUID] = [*dict.fromkeys(reversed(fresh))][::-1]
        runs = [RunChange.of(self._tables.runs[RunId(each)]) for each in latest if each in self._tables.runs]
        jobs = [JobChange.of(self._tables.jobs[JobId(each)]) for each in latest if each in self._tables.jobs]
        counts = _counts(runs, jobs) if len(latest) > most else None
        return Batch(
            position=await self.position(),
            runs=runs if counts is None else [run for run in runs if run.job_id in watched][-most:],
            jobs=jobs if counts is None else [job for job in jobs if job.id in watched],
            counts=counts,
            running=self._running(),
        )

    def _forgotten(self, fresh: Sequence[UUID]) -> bool:
        return any(each not in self._tables.runs and each not in self._tables.jobs for each in fresh)

    def _running(self) -> Mapping[RunId, RunChange] | None:
        holders = self._tables.holders
        return (
            None if len(holders) > MOST_RUNNING else {each: RunChange.of(self._tables.runs[each]) for each in holders}
        )


def _counts(runs: Sequence[RunChange], jobs: Sequence[JobChange]) -> Mapping[str, Count]:
    edited = Counter(job.owner for job in jobs)
    owners = sorted({run.owner for run in runs} | set(edited))
    return {
        owner: Count(runs=Counter(run.state for run in runs if run.owner == owner), jobs=edited[owner])
        for owner in owners
    }
