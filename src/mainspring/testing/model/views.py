"""What people see, found by looking at everything."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import TypeVar
from uuid import UUID

from mainspring.domain.ids import JobId, Lane, RunId
from mainspring.domain.job import Job, JobState, Terms
from mainspring.domain.run import Run, State
from mainspring.ports.views import (
    MOST_WAITED,
    WAIT_BUCKETS,
    Cursor,
    DeadFilter,
    DeadLetter,
    Figures,
    JobFilter,
    JobRecord,
    Page,
    RunFilter,
    Tally,
)
from mainspring.testing.model.tables import Tables, TallyKey

T = TypeVar("T")
_MICROSECOND = timedelta(microseconds=1)


class MemoryViews:
    """The `Views` port."""

    def __init__(self, tables: Tables) -> None:
        self._tables = tables

    async def job(self, job_id: JobId) -> JobRecord | None:
        """A standing job, or a one-shot made from its row."""
        return next((record for record in self._records() if record.job.id == job_id), None)

    async def jobs(self, where: JobFilter, page: Cursor) -> Page[JobRecord]:
        """Both kinds, merged by id."""
        records = (record for record in self._records() if not where.standing or record.job.id in self._tables.jobs)
        found = [record for record in records if _job_matches(record, where)]
        return _cut(found, lambda record: record.job.id, page)

    async def run(self, run_id: RunId) -> Run | None:
        """Unless it was hidden, being a job of its own."""
        run = self._tables.runs.get(run_id)
        return run if run and run.id not in self._tables.hidden else None

    async def runs(self, where: RunFilter, page: Cursor) -> Page[Run]:
        """By id, greatest first."""
        return _cut([run for run in self._visible() if _run_matches(run, where)], lambda run: run.id, page)

    async def dead_letters(self, where: DeadFilter, page: Cursor) -> Page[DeadLetter]:
        """By id of the run, greatest first."""
        found = [letter for letter in self._tables.dead.values() if _dead_matches(letter, where)]
        return _cut(found, lambda letter: letter.run.id, page)

    async def figures(self) -> Figures:
        """Totals and whatever wasn't folded into them yet."""
        counts = Counter(self._tables.totals)
        for key, what, by in self._tables.tallies:
            counts[key, what] += by
        running = Counter(self._tables.key_of(self._tables.runs[run_id]) for run_id in self._tables.holders)
        return Figures(
            tallies=[_tally(key, counts, running[key]) for key in sorted({key for key, _ in counts})],
            dead_letters=len(self._tables.dead),
        )

    async def due(self, owner: str | None = None) -> int:
        """Counted."""
        now = self._tables.now()
        waiting = [run for run in self._tables.runs.values() if run.state is State.WAITING]
        return sum(1 for run in waiting if run.wake_at and run.wake_at <= now and owner in (None, run.owner))

    async def suspects(self) -> int:
        """Counted."""
        now = self._tables.now()
        suspects = [run for run in self._tables.live() if run.state is State.WAITING and run.suspect]
        return sum(1 for run in suspects if run.wake_at and run.wake_at <= now)

    async def handlers(self) -> Mapping[str, Lane]:
        """Whoever registered a handler last decided its lane."""
        return dict(self._tables.handlers)

    async def keys_taken(self, owner: str, keys: Sequence[str]) -> frozenset[str]:
        """By looking each up."""
        return frozenset(key for key in keys if (owner, key) in self._tables.accepted)

    async def now(self) -> datetime:
        """The clock that was given."""
        return self._tables.now()

    def _visible(self) -> list[Run]:
        return [run for run in self._tables.runs.values() if run.id not in self._tables.hidden]

    def _records(self) -> list[JobRecord]:
        standing = [job for job in self._tables.jobs.values() if job.state is not JobState.DELETED]
        one_shots = [_one_shot(run) for run in self._visible() if run.one_shot]
        return [JobRecord(job=job, run=self._shown(job.id)) for job in (*standing, *one_shots)]

    def _shown(self, job_id: JobId) -> Run | None:
        runs = [run for run in self._visible() if run.job_id == job_id and run.state is not State.SKIPPED]
        live = [run for run in runs if not run.state.terminal]
        return max(live or runs, key=lambda run: run.id, default=None)


def _one_shot(run: Run) -> Job:
    held = run.state is State.WAITING and run.wake_at is None
    return Job(
        id=JobId(run.id),
        task=run.task,
        created_at=run.created_at,
        updated_at=run.created_at,
        owner=run.owner,
        project=run.project,
        name=run.name,
        key=run.key,
        terms=Terms.from_json(run.spec) if run.spec else Terms(),
        state=JobState.PAUSED if held else JobState.ACTIVE,
        version=run.version,
        next_fire_at=run.due_at if run.state is State.WAITING else None,
        wake_at=run.wake_at if run.state is State.WAITING else None,
    )


def _cut(items: Sequence[T], key: Callable[[T], UUID], page: Cursor) -> Page[T]:
    before = page.before
    rest = sorted((item for item in items if before is None or key(item) < before), key=key, reverse=True)
    shown = rest[: page.limit]
    return Page(items=shown, next=key(shown[-1]) if len(rest) > len(shown) else None)


def _job_matches(record: JobRecord, where: JobFilter) -> bool:
    job, run = record.job, record.run
    searched = (job.name, job.task.handler, job.key or "")
    return (
        where.owner in (None, job.owner)
        and where.project in (None, job.project)
        and where.name in (None, job.name)
        and where.handler in (None, job.task.handler)
        and where.key in (None, job.key)
        and (where.states is None or job.state in where.states)
        and (where.run_states is None or (run is not None and run.state in where.run_states))
        and (where.text is None or any(where.text in text for text in searched))
    )


def _run_matches(run: Run, where: RunFilter) -> bool:
    return (
        where.owner in (None, run.owner)
        and where.job_id in (None, run.job_id)
        and where.worker in (None, run.worker)
        and where.handler in (None, run.task.handler)
        and (where.states is None or run.state in where.states)
    )


def _dead_matches(letter: DeadLetter, where: DeadFilter) -> bool:
    return (
        where.owner in (None, letter.run.owner)
        and where.job_id in (None, letter.run.job_id)
        and where.handler in (None, letter.run.task.handler)
        and where.fingerprint in (None, letter.fingerprint)
    )


def _tally(key: TallyKey, counts: Counter[tuple[TallyKey, str]], running: int) -> Tally:
    owner, lane, origin = key
    return Tally(
        owner=owner,
        lane=lane,
        origin=origin,
        added=counts[key, "added"],
        started=counts[key, "started"],
        retried=counts[key, "retried"],
        lost=counts[key, "lost"],
        ended={state: counts[key, f"ended {state}"] for state in State if counts[key, f"ended {state}"]},
        waits=[counts[key, f"waited {bucket}"] for bucket in range(len(WAIT_BUCKETS) + 1)],
        waited=min(counts[key, "waited"] * _MICROSECOND, MOST_WAITED),
        running=running,
    )
