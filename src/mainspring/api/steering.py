"""What people do to a job that exists: trigger, pause, resume and cancel it."""

import hashlib
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta

from mainspring.domain.ids import JobId, RunId, derived_run_id
from mainspring.domain.job import Job, JobState
from mainspring.domain.plan import Skip
from mainspring.domain.reschedule import paused, resumed
from mainspring.domain.run import Key, NewRun, Run, State
from mainspring.errors import KeyConflict, NotFound, StoreUnavailable, VersionConflict, WrongState
from mainspring.ports.time import Clock, Random
from mainspring.ports.timetable import Timetable
from mainspring.ports.views import Cursor, JobRecord, RunFilter, Views
from mainspring.ports.work import Addition, Cancel, Effect, Hold, Order, Release, Work

NONCE_BITS = 128
TRIES = 5
"""How often somebody else may change the job in between before the caller is told."""
_PAGE = 100

Change = Callable[[Job, datetime], tuple[Job, Sequence[Skip]]]


class Steering:
    """Orders to jobs, standing ones and one-shots alike."""

    def __init__(self, *, work: Work, timetable: Timetable, views: Views, clock: Clock, random: Random) -> None:
        self._work = work
        self._timetable = timetable
        self._views = views
        self._clock = clock
        self._random = random

    async def trigger(self, job_id: JobId, key: str | None) -> Run:
        """Run the job once now, beside its schedule; a repeated *key* answers with the first run."""
        job = (await self._found(job_id)).job
        distinction = key or f"{self._random.bits(NONCE_BITS):x}"
        run = NewRun(
            id=derived_run_id(job.id, distinction, self._clock.now()),
            job_id=job.id,
            task=job.task,
            due=timedelta(0),
            owner=job.owner,
            project=job.project,
            name=job.name,
            key=None if key is None else Key(text=f"trigger/{key}", body=hashlib.sha256(job.id.bytes).digest()),
        )
        [added] = await self._work.add([run])
        if added.kind is Addition.CONFLICT:
            raise KeyConflict(f"the key {key!r} was used to trigger another job; choose another key")
        stored = await self._views.run(RunId(added.id))
        if stored is None:
            raise NotFound(f"the execution {added.id} is gone")
        return stored

    async def pause(self, job_id: JobId) -> None:
        """Let nothing fire until the job is resumed; pausing twice changes nothing."""
        record = await self._found(job_id)
        if await self._one_shot(record):
            await self._steer_first_run(record, Hold(), "paused")
        else:
            await self._change(record.job, lambda job, _: (paused(job), ()))

    async def resume(self, job_id: JobId) -> None:
        """Fire again from now on; resuming twice changes nothing."""
        record = await self._found(job_id)
        if record.job.state is not JobState.PAUSED:
            return
        if await self._one_shot(record):
            await self._steer_first_run(record, Release(), "resumed")
        else:
            await self._change(record.job, resumed)

    async def cancel(self, job_id: JobId) -> None:
        """End every run that hasn't ended: waiting ones at once, running ones within a heartbeat."""
        await self._found(job_id)
        live = await self._live_runs(job_id)
        if not live:
            raise WrongState("no run of this job waits or runs; to stop a schedule, pause or delete the job")
        for run in live:
            await self._work.steer(run.id, Cancel())

    async def _found(self, job_id: JobId) -> JobRecord:
        record = await self._views.job(job_id)
        if record is None:
            raise NotFound(f"there is no job {job_id}")
        return record

    async def _one_shot(self, record: JobRecord) -> bool:
        """Whether the job is its own first run, which may be followed by triggered ones."""
        return await self._views.run(RunId(record.job.id)) is not None

    async def _steer_first_run(self, record: JobRecord, order: Order, done: str) -> None:
        steered = await self._work.steer(RunId(record.job.id), order)
        if steered.effect is not Effect.DONE:
            state = "gone" if steered.state is None else steered.state.name.lower()
            raise WrongState(f"a one-shot job can only be {done} while it waits, and this one is {state}")

    async def _change(self, job: Job, change: Change) -> None:
        for _ in range(TRIES):
            changed, skips = change(job, await self._views.now())
            if changed == job:
                return
            try:
                await self._timetable.save(changed, job, skips)
            except VersionConflict:
                job = (await self._found(job.id)).job
            else:
                return
        raise StoreUnavailable(f"job {job.id} keeps changing; try again")

    async def _live_runs(self, job_id: JobId) -> Sequence[Run]:
        where = RunFilter(job_id=job_id, states=frozenset({State.WAITING, State.RUNNING}))
        found: list[Run] = []
        cursor = Cursor(limit=_PAGE)
        while True:
            page = await self._views.runs(where, cursor)
            found.extend(page.items)
            if page.next is None:
                return found
            cursor = Cursor(before=page.next, limit=_PAGE)
