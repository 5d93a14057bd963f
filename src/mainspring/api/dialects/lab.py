"""`/jobs`: create, look at, run and cancel jobs, in the words of the lab."""

import json
from uuid import UUID

from fastapi import APIRouter, Request, Response

from mainspring.api.body import answer
from mainspring.api.caller import Caller, Requester
from mainspring.api.changes import JobChanges
from mainspring.api.dialects.defaults import Defaults
from mainspring.api.dialects.door import Door, kept, sent
from mainspring.api.dialects.lab_job import created, shown
from mainspring.api.dialects.lab_request import LabRequest, native_fields
from mainspring.api.document import write_json
from mainspring.api.finding import found_job
from mainspring.api.operations import operation
from mainspring.api.orders import triggered
from mainspring.api.parameters import IdempotencyKey, touching
from mainspring.api.requests import read_as
from mainspring.api.schemas.dialects import LabJob, LabRun
from mainspring.api.services import Services
from mainspring.api.words import PLAIN_CANCELLED, goes_on, plain_word
from mainspring.domain.ids import JobId
from mainspring.ports.views import JobRecord


def lab_router(services: Services, defaults: Defaults) -> APIRouter:
    """The endpoints over *services*."""
    router = APIRouter(prefix="/jobs", tags=["lab"])
    door = Door(services)
    cancelling = operation("Cancel a job; one that recurs is gone then", LabJob, 202, errors=(404, 409))

    creating = operation("Create a job", LabJob, 201, body=LabRequest, body_required=False, errors=(409,))
    creating["responses"][200] = {**creating["responses"][201], "description": "The key was used before: that job"}

    @router.post("", **creating)
    async def create_lab_job(request: Request, caller: Requester, key: IdempotencyKey = None) -> Response:
        document = await sent(request)
        fields = native_fields(read_as(LabRequest, document.fields), kept(document), defaults)
        submitted = await door.submit(caller, fields, key=key)
        location = {"Location": f"/jobs/{submitted.id}"}
        if submitted.created:
            return answer(created(json.loads(submitted.text), write_json(fields["payload"])), 201, location)
        record = await door.record(caller, submitted.id)
        return answer(shown(record, await door.payload(record)), 200, location)

    @router.get("/{job_id}", **operation("Show a job and how far it is", LabJob, errors=(404,)))
    async def get_lab_job(job_id: UUID, caller: Requester) -> Response:
        record = await door.record(caller, JobId(job_id))
        return answer(shown(record, await door.payload(record)))

    @router.post("/{job_id}/run", **operation("Run a job now", LabRun, 202, errors=(404, 409)))
    async def run_lab_job(job_id: UUID, caller: Requester, key: IdempotencyKey = None) -> Response:
        run = await triggered(services, caller, JobId(job_id), key)
        return answer({"job_id": str(job_id), "run_id": str(run.id)}, 202)

    @router.delete("/{job_id}", **cancelling)
    async def delete_lab_job(job_id: UUID, caller: Requester) -> Response:
        return await cancelled(caller, JobId(job_id))

    @router.post("/{job_id}/cancel", **cancelling)
    async def cancel_lab_job(job_id: UUID, caller: Requester) -> Response:
        return await cancelled(caller, JobId(job_id))

    async def cancelled(caller: Caller, job_id: JobId) -> Response:
        record, status = await _cancel(services, caller, job_id)
        return answer(shown(record, await door.payload(record), status), 202)

    return router


async def _cancel(services: Services, caller: Caller, job_id: JobId) -> tuple[JobRecord, str | None]:
    """The job, and what it is called now if that can't be read off it any more; to cancel twice changes nothing."""
    record = await found_job(services.ports.views, job_id, touching(caller))
    if goes_on(record.job):
        before = await services.editing.delete(job_id, touching(caller))
        await JobChanges(services).note_deletion(caller, before)
        return before, PLAIN_CANCELLED
    if plain_word(record.job, record.run) != PLAIN_CANCELLED:
        before = await services.steering.cancel(job_id, touching(caller))
        record = await JobChanges(services).noted(caller, "job.cancel", before, always=True)
    return record, None
