"""What has changed since somebody last looked. Nothing is written for it: followers read what is stored anyway."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import NewType, Protocol

from mainspring.domain.ids import Fence, JobId, RunId, Version
from mainspring.domain.job import Job, JobState
from mainspring.domain.run import Run, State

Position = NewType("Position", str)
"""A place in the store's history, to go on from: letters, digits, '-', '.' and '_' that only the store understands."""

MOST_BEHIND = 50_000
"""Changes after which a position is too old to go on from: reading everything again is cheaper."""
MOST_RUNNING = 1_000
"""Runs beyond which the set of those that run isn't told."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunChange:
    """A run as it is now, without what may be large."""

    id: RunId
    job_id: JobId
    owner: str
    name: str
    handler: str
    state: State
    fence: Fence
    attempt: int
    worker: str | None
    due_at: datetime
    started_at: datetime | None
    finished_at: datetime | None
    reason: str | None

    @classmethod
    def of(cls, run: Run) -> "RunChange":
        """What is told of *run*."""
        return cls(
            id=run.id,
            job_id=run.job_id,
            owner=run.owner,
            name=run.name,
            handler=run.task.handler,
            state=run.state,
            fence=run.fence,
            attempt=run.attempt,
            worker=run.worker,
            due_at=run.due_at,
            started_at=run.started_at,
            finished_at=run.finished_at,
            reason=run.reason,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class JobChange:
    """A standing job as it is now, without what may be large."""

    id: JobId
    owner: str
    name: str
    handler: str
    state: JobState
    version: Version
    next_fire_at: datetime | None

    @classmethod
    def of(cls, job: Job) -> "JobChange":
        """What is told of *job*."""
        return cls(
            id=job.id,
            owner=job.owner,
            name=job.name,
            handler=job.task.handler,
            state=job.state,
            version=job.version,
            next_fire_at=job.next_fire_at,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Count:
    """How much has changed of one owner's."""

    runs: Mapping[State, int] = field(default_factory=dict)
    """Runs that were added, steered, started or ended, by the state that they are in now."""
    jobs: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Batch:
    """What has changed since a position."""

    position: Position
    """Where to go on from."""
    runs: Sequence[RunChange] = ()
    """Runs that were added, held, released, edited, started or ended, each once, as it is now."""
    jobs: Sequence[JobChange] = ()
    """Standing jobs that were added or edited, each once; a tick of the schedule is no edit."""
    counts: Mapping[str, Count] | None = None
    """By owner, where changes were too many to name: then only those of watched jobs are."""
    running: Mapping[RunId, RunChange] | None = None
    """All runs in workers' hands; None if they are more than `MOST_RUNNING`."""

    @property
    def counted(self) -> int:
        """How many changes weren't named."""
        counts = () if self.counts is None else self.counts.values()
        return sum(count.jobs + sum(count.runs.values()) for count in counts)


class Changes(Protocol):
    """Ends and edits are told at least once to whoever goes on from where it was; what came and went in between isn't.

    A run that goes back from a worker to the queue is told by its absence from `running`, and by its next start.
    """

    async def position(self) -> Position:
        """Now."""
        ...

    async def since(self, position: Position, *, most: int, watched: Sequence[JobId] = ()) -> Batch | None:
        """All that changed after *position*; above *most* changes, counts and the latest changes of *watched* jobs.

        None if the store can't tell any more, or *position*
        isn't one of its own: read everything again.
        """
        ...
