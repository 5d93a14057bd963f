"""`/api/v1/jobs/{id}/…`: trigger, pause, resume and cancel."""

from uuid import UUID

from fastapi import APIRouter, Response

from mainspring.api.caller import Caller, Requester
from mainspring.api.changes import JobChanges
from mainspring.api.executions import accepted
from mainspring.api.operations import operation
from mainspring.api.parameters import IdempotencyKey, IfMatch, executing, touching
from mainspring.api.schemas.executions import Execution
from mainspring.api.schemas.jobs import Job
from mainspring.api.services import Services
from mainspring.domain.ids import JobId
from mainspring.domain.run import Run


async def triggered(services: Services, caller: Caller, job_id: JobId, key: str | None) -> Run:
    """The run that *caller* asked for; a repeated *key* is answered with the first, and not noted again."""
    run, created = await services.steering.trigger(job_id, key, executing(caller))
    if created:
        subject, after = f"job:{job_id}", {"execution": str(run.id)}
        await services.trail.note(caller, "job.trigger", subject, owner=run.owner, job_id=job_id, after=after)
    return run


def orders_router(services: Services) -> APIRouter:
    """The endpoints over *services*."""
    router = APIRouter(prefix="/jobs", tags=["jobs"])
    steering, changes = services.steering, JobChanges(services)

    @router.post("/{job_id}/trigger", **operation("Run a job once now", Execution, 202, errors=(404, 409)))
    async def trigger_job(job_id: UUID, caller: Requester, key: IdempotencyKey = None) -> Response:
        return accepted(await triggered(services, caller, JobId(job_id), key))

    @router.post("/{job_id}/pause", **operation("Let nothing fire", Job, errors=(404, 409, 412), tagged=True))
    async def pause_job(job_id: UUID, caller: Requester, if_match: IfMatch = None) -> Response:
        before = await steering.pause(JobId(job_id), touching(caller, if_match))
        return await changes.answer(caller, "job.pause", before)

    @router.post("/{job_id}/resume", **operation("Fire again", Job, errors=(404, 409, 412), tagged=True))
    async def resume_job(job_id: UUID, caller: Requester, if_match: IfMatch = None) -> Response:
        before = await steering.resume(JobId(job_id), executing(caller, if_match))
        return await changes.answer(caller, "job.resume", before)

    @router.post("/{job_id}/cancel", **operation("Cancel a job's runs", Job, 202, errors=(404, 409), tagged=True))
    async def cancel_job(job_id: UUID, caller: Requester) -> Response:
        before = await steering.cancel(JobId(job_id), touching(caller))
        return await changes.answer(caller, "job.cancel", before, 202, always=True)

    return router
