"""`/api/v1/jobs/{id}/…`: trigger, pause, resume and cancel."""

from uuid import UUID

from fastapi import APIRouter, Response

from mainspring.api.body import answer
from mainspring.api.jobs import IdempotencyKey, found_job
from mainspring.api.ports import ApiPorts
from mainspring.api.representation import shown_run
from mainspring.api.steering import Steering
from mainspring.domain.ids import JobId


def orders_router(ports: ApiPorts) -> APIRouter:
    """The endpoints over *ports*."""
    router = APIRouter(prefix="/jobs")
    steering = Steering(
        work=ports.work, timetable=ports.timetable, views=ports.views, clock=ports.clock, random=ports.random
    )

    @router.post("/{job_id}/trigger")
    async def trigger(job_id: UUID, key: IdempotencyKey = None) -> Response:
        run = await steering.trigger(JobId(job_id), key)
        return answer(shown_run(run, run.result), 202, {"Location": f"/api/v1/executions/{run.id}"})

    @router.post("/{job_id}/pause")
    async def pause(job_id: UUID) -> Response:
        await steering.pause(JobId(job_id))
        return await found_job(ports, job_id)

    @router.post("/{job_id}/resume")
    async def resume(job_id: UUID) -> Response:
        await steering.resume(JobId(job_id))
        return await found_job(ports, job_id)

    @router.post("/{job_id}/cancel")
    async def cancel(job_id: UUID) -> Response:
        await steering.cancel(JobId(job_id))
        return await found_job(ports, job_id, 202)

    return router
