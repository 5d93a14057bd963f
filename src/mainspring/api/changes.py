"""PUT, PATCH and DELETE `/api/v1/jobs/{id}`, and what all changes of a job answer and leave in the audit."""

from uuid import UUID

from fastapi import APIRouter, Request, Response

from mainspring.api.body import read_body
from mainspring.api.caller import Caller, Requester
from mainspring.api.document import read_object, write_json
from mainspring.api.finding import found_job
from mainspring.api.jobs import job_answer, job_text
from mainspring.api.operations import operation
from mainspring.api.parameters import IfMatch, executing, touching
from mainspring.api.representation import shown_job
from mainspring.api.schemas.jobs import Job, JobUpdate
from mainspring.api.services import Services
from mainspring.domain.ids import JobId
from mainspring.ports.views import JobRecord


class JobChanges:
    """Writes changes of jobs down and shows what became of them."""

    def __init__(self, services: Services) -> None:
        self._ports = services.ports
        self._trail = services.trail

    async def answer(
        self, caller: Caller, action: str, before: JobRecord, status: int = 200, *, always: bool = False
    ) -> Response:
        """The job as it is now, as an answer."""
        after = await self.noted(caller, action, before, always=always)
        return job_answer(after, await job_text(self._ports, after), status)

    async def noted(self, caller: Caller, action: str, before: JobRecord, *, always: bool = False) -> JobRecord:
        """The job as it is now; what left it as it was isn't noted, unless it *always* is."""
        after = await found_job(self._ports.views, before.job.id, touching(caller))
        earlier, later = _short(before), _short(after)
        if always or earlier != later:
            await self._note(caller, action, before, earlier, later)
        return after

    async def note_deletion(self, caller: Caller, before: JobRecord) -> None:
        """Write down that a job is gone."""
        await self._note(caller, "job.delete", before, _short(before), None)

    async def _note(
        self, caller: Caller, action: str, record: JobRecord, before: bytes | None, after: bytes | None
    ) -> None:
        job = record.job
        subject = f"job:{job.id}"
        await self._trail.note(caller, action, subject, owner=job.owner, job_id=job.id, before=before, after=after)


def changes_router(services: Services) -> APIRouter:
    """The endpoints over *services*."""
    router = APIRouter(prefix="/jobs", tags=["jobs"])
    editing, changes = services.editing, JobChanges(services)
    summary = "Change a job: fields that are sent replace those that it has"
    described = operation(summary, Job, body=JobUpdate, errors=(404, 409, 412), tagged=True)

    async def update(job_id: UUID, request: Request, caller: Caller, match: str | None) -> Response:
        document = read_object(await read_body(request))
        before = await editing.update(JobId(job_id), document, caller.check_handler, executing(caller, match))
        return await changes.answer(caller, "job.update", before)

    @router.put("/{job_id}", **described)
    async def put_job(job_id: UUID, request: Request, caller: Requester, if_match: IfMatch = None) -> Response:
        return await update(job_id, request, caller, if_match)

    @router.patch("/{job_id}", **described)
    async def patch_job(job_id: UUID, request: Request, caller: Requester, if_match: IfMatch = None) -> Response:
        return await update(job_id, request, caller, if_match)

    @router.delete("/{job_id}", **operation("Delete a job and cancel what runs", None, 204, errors=(404, 412)))
    async def delete_job(job_id: UUID, caller: Requester, if_match: IfMatch = None) -> Response:
        before = await editing.delete(JobId(job_id), touching(caller, if_match))
        await changes.note_deletion(caller, before)
        return Response(status_code=204)

    return router


def _short(record: JobRecord) -> bytes:
    """The job as the audit keeps it; a payload that is too long for that is named by its content."""
    task = record.job.task
    if task.blob is None:
        return write_json(shown_job(record, task.payload))
    return write_json({**shown_job(record, None), "payload_blob": task.blob})
