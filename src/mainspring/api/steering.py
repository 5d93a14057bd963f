"""What people do to a job that exists: trigger, pause, resume and cancel it."""

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import datetime, timedelta

from mainspring.api.finding import allowed, first_run, found_job, live_runs
from mainspring.api.preconditions import Check
from mainspring.api.quota import Quota
from mainspring.domain.ids import JobId, RunId, derived_run_id
from mainspring.domain.job import Job, JobState
from mainspring.domain.plan import Skip
from mainspring.domain.reschedule import paused, resumed
from mainspring.domain.run import Key, NewRun, Run
from mainspring.errors import KeyConflict, NotFound, StoreUnavailable, VersionConflict, WrongState
from mainspring.ports.time import Clock, Random
from mainspring.ports.timetable import Timetable
from mainspring.ports.tracing import UNTRACED, Tracing
from mainspring.ports.views import JobRecord, Views
from mainspring.ports.work import Addition, Cancel, Effect, Hold, Order, Release, Work

NONCE_BITS = 128
TRIES = 5
"""How often somebody else may change the job in between before the caller is told."""

Change = Callable[[Job, datetime], tuple[Job, Sequence[Skip]]]


class Steering:
    """Orders to jobs, standing ones and one-shots alike; each answers with the job as it was before."""

    def __init__(
        self,
        *,
        work: Work,
        timetable: Timetable,
        views: Views,
        clock: Clock,
        random: Random,
        quota: Quota,
        tracing: Tracing = UNTRACED,
    ) -> None:
        self._work = work
        self._timetable = timetable
        self._views = views
        self._clock = clock
        self._random = random
        self._quota = quota
        self._tracing = tracing

    async def trigger(self, job_id: JobId, key: str | None, check: Check = allowed) -> tuple[Run, bool]:
        """Run the job once now, beside its schedule; a repeated *key* answers with the first run, and False."""
        job = (await found_job(self._views, job_id, check)).job
        idempotency = None if key is None else Key.apart("trigger", key, hashlib.sha256(job.id.bytes).digest())
        distinction = f"{self._random.bits(NONCE_BITS):x}" if idempotency is None else idempotency.text
        run = NewRun(
            id=derived_run_id(job.id, distinction, self._clock.now()),
            job_id=job.id,
            task=replace(job.task, trace=self._tracing.current()),
            due=timedelta(0),
            owner=job.owner,
            project=job.project,
            name=job.name,
            key=idempotency,
        )
        [added] = await self._quota.adding([run], lambda: self._work.add([run]))
        if added.kind is Addition.CONFLICT:
            raise KeyConflict(f"the key {key!r} was used to trigger another job; choose another key")
        stored = await self._views.run(RunId(added.id))
        if stored is None:
            raise NotFound(f"the execution {added.id} is gone")
        return stored, added.kind is Addition.CREATED

    async def pause(self, job_id: JobId, check: Check = allowed) -> JobRecord:
        """Let nothing fire until the job is resumed; pausing twice changes nothing."""
        for _ in range(TRIES):
            record = await found_job(self._views, job_id, check)
            if await first_run(self._views, record.job) is not None:
                done = await self._steer_first_run(record.job, Hold(expected_version=record.job.version), "paused")
            else:
                done = await self._change(record.job, lambda job, _: (paused(job), ()))
            if done:
                return record
        raise StoreUnavailable(f"job {job_id} keeps changing; try again")

    async def resume(self, job_id: JobId, check: Check = allowed) -> JobRecord:
        """Fire again from now on; resuming twice changes nothing."""
        for _ in range(TRIES):
            record = await found_job(self._views, job_id, check)
            if record.job.state is not JobState.PAUSED:
                return record
            if await first_run(self._views, record.job) is not None:
                done = await self._steer_first_run(record.job, Release(expected_version=record.job.version), "resumed")
            else:
                done = await self._change(record.job, resumed)
            if done:
                return record
        raise StoreUnavailable(f"job {job_id} keeps changing; try again")

    async def cancel(self, job_id: JobId, check: Check = allowed) -> JobRecord:
        """End every run that hasn't ended: waiting ones at once, running ones within a heartbeat."""
        record = await found_job(self._views, job_id, check)
        live = await live_runs(self._views, job_id)
        if not live:
            raise WrongState("no run of this job waits or runs; to stop a schedule, pause or delete the job")
        for run in live:
            await self._work.steer(run.id, Cancel())
        return record

    async def _steer_first_run(self, job: Job, order: Order, done: str) -> bool:
        """Whether it was done; if not, somebody else changed the job first."""
        steered = await self._work.steer(RunId(job.id), order)
        if steered.effect in {Effect.DONE, Effect.CONFLICT}:
            return steered.effect is Effect.DONE
        state = "gone" if steered.state is None else steered.state.name.lower()
        raise WrongState(f"a one-shot job can only be {done} while it waits, and this one is {state}")

    async def _change(self, job: Job, change: Change) -> bool:
        """Whether the job is as it should be; if not, somebody else changed it first."""
        changed, skips = change(job, await self._views.now())
        if changed == job:
            return True
        try:
            await self._timetable.save(changed, job, skips)
        except VersionConflict:
            return False
        return True
