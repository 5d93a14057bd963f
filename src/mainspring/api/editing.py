"""Changing what a job is, and deleting it."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from mainspring.api.composing import Pattern, Timing
from mainspring.api.document import Document
from mainspring.api.finding import allowed, first_run, found_job, live_runs
from mainspring.api.lanes import Lanes
from mainspring.api.preconditions import Check, HandlerCheck
from mainspring.api.representation import shown_job
from mainspring.api.requests import SCHEDULE_ALIAS, InvalidFields, JobRequest, read_as, read_request
from mainspring.api.schemas.jobs import FIXED, JobUpdate
from mainspring.api.steering import TRIES
from mainspring.api.submission import MAX_INLINE
from mainspring.domain.ids import JobId, Lane, RunId
from mainspring.domain.job import Job
from mainspring.domain.reschedule import deleted, edited
from mainspring.domain.run import Run, State
from mainspring.domain.task import Task
from mainspring.errors import Invalid, NotFound, StoreUnavailable, VersionConflict, WrongState
from mainspring.ports.blobs import Blobs
from mainspring.ports.timetable import Timetable
from mainspring.ports.views import JobRecord, Views
from mainspring.ports.work import Cancel, Edit, Effect, Work

_NESTED = ("retry", "misfire", "dst")
_DELETED = "job deleted"


@dataclass(frozen=True, slots=True)
class _Merged:
    request: JobRequest
    task: Task
    timing: Timing


class Editing:
    """Updates and deletions, of standing jobs and one-shots alike; each answers with the job as it was before."""

    def __init__(self, *, work: Work, timetable: Timetable, views: Views, blobs: Blobs, lanes: Lanes) -> None:
        self._work = work
        self._timetable = timetable
        self._views = views
        self._blobs = blobs
        self._lanes = lanes

    async def update(
        self, job_id: JobId, document: Document, check_handler: HandlerCheck, check: Check = allowed
    ) -> JobRecord:
        """Merge *document* into the job; what runs already isn't touched, and what has ended can't be changed."""
        read_as(JobUpdate, {name: value for name, value in document.fields.items() if name not in FIXED})
        for _ in range(TRIES):
            record = await found_job(self._views, job_id, check)
            run = await first_run(self._views, record.job)
            if run is not None and run.state is not State.WAITING:
                ended = "runs already, and has no later runs" if run.state is State.RUNNING else "has ended"
                raise WrongState(f"this one-shot job {ended}: submit another, or trigger it again as it is")
            merged = await self._merged(record, document)
            check_handler(merged.request.handler)
            update = self._update_standing if run is None else self._update_one_shot
            if await update(record.job, merged):
                return record
        raise StoreUnavailable(f"job {job_id} keeps changing; try again")

    async def delete(self, job_id: JobId, check: Check = allowed) -> JobRecord:
        """Cancel what waits and runs, and show the job no more; its history stays until it is pruned."""
        for _ in range(TRIES):
            record = await found_job(self._views, job_id, check)
            run = await first_run(self._views, record.job)
            removed = self._remove_standing(record.job) if run is None else self._remove_one_shot(record.job, run)
            if await removed:
                return record
        raise StoreUnavailable(f"job {job_id} keeps changing; try again")

    async def _update_standing(self, job: Job, merged: _Merged) -> bool:
        """Whether it was stored; if not, somebody else changed the job first."""
        if merged.timing.due is not None:
            raise Invalid("a standing job can't become a one-shot: delete it and submit another", field="schedule")
        request = merged.request
        wanted = replace(
            job, task=merged.task, terms=merged.timing.terms, name=request.name, project=request.project_id
        )
        if wanted == job:
            return True
        changed, skips = edited(job, wanted, await self._views.now())
        try:
            await self._timetable.save(changed, job, skips)
        except VersionConflict:
            return False
        return True

    async def _update_one_shot(self, job: Job, merged: _Merged) -> bool:
        request, terms = merged.request, merged.timing.terms
        if merged.timing.due is None:
            raise Invalid("a one-shot job can't become a standing one: delete it and submit another", field="schedule")
        if request.project_id != job.project:
            raise Invalid("the project of a one-shot job can't be changed", field="project_id")
        if (merged.task, terms, request.name) == (job.task, job.terms, job.name):
            return True
        moved = (terms.schedule, terms.timezone) != (job.terms.schedule, job.terms.timezone)
        order = Edit(
            task=merged.task,
            due=merged.timing.due if moved else None,
            name=request.name,
            spec=terms.to_json(),
            expected_version=job.version,
        )
        steered = await self._work.steer(RunId(job.id), order)
        return steered.effect is Effect.DONE

    async def _merged(self, record: JobRecord, document: Document) -> _Merged:
        job = record.job
        shown = shown_job(record, None)
        given = document.fields
        _refuse_fixed(given, shown)
        fields = {name: value for name, value in shown.items() if name not in FIXED}
        if SCHEDULE_ALIAS in given:
            del fields["schedule"]
        for name, value in given.items():
            nested = name in _NESTED and isinstance(value, dict)
            fields[name] = {**fields[name], **value} if nested else value
        if fields["handler"] != job.task.handler and "lane" not in given:
            fields["lane"] = None  # the new handler's own
        request = read_request({name: value for name, value in fields.items() if name not in FIXED})
        moved = request.handler != job.task.handler or request.lane is None
        lane = await self._lanes.of(request) if moved else Lane(request.lane or "")
        pattern = Pattern.of(request)
        return _Merged(request, await self._task(pattern, document.payload, job.task, lane), pattern.timing)

    async def _task(self, pattern: Pattern, payload: bytes | None, current: Task, lane: Lane) -> Task:
        if payload is None:
            return replace(pattern.task(current.payload, lane, current.trace), blob=current.blob)
        if len(payload) <= MAX_INLINE:
            return pattern.task(payload, lane, current.trace)
        return replace(pattern.task(b"", lane, current.trace), blob=await self._blobs.put(payload))

    async def _remove_standing(self, job: Job) -> bool:
        try:
            await self._timetable.save(deleted(job), job)
        except VersionConflict:
            return False
        except NotFound:
            raise NotFound(f"there is no job {job.id}") from None
        await self._cancel_runs(job)
        return True

    async def _remove_one_shot(self, job: Job, run: Run) -> bool:
        """Once its run has ended or is flagged, no more versions of the job can come."""
        if not run.state.terminal:
            order = Cancel(reason=_DELETED, expected_version=job.version)
            if (await self._work.steer(run.id, order)).effect not in {Effect.DONE, Effect.FLAGGED}:
                return False
        await self._cancel_runs(job)
        return await self._work.hide(job.id)

    async def _cancel_runs(self, job: Job) -> None:
        for run in await live_runs(self._views, job.id):
            await self._work.steer(run.id, Cancel(reason=_DELETED))


def _refuse_fixed(given: Mapping[str, Any], shown: Mapping[str, Any]) -> None:
    """What can't be changed may be sent back as it was read, and not otherwise."""
    faults = {name: "can't be changed; leave it out" for name in FIXED if name in given and given[name] != shown[name]}
    if faults:
        raise InvalidFields(faults)
