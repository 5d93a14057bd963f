"""`/api/v1/jobs`: finding jobs."""

from typing import Annotated, Literal
from uuid import UUID

from fastapi import APIRouter, Query, Response

from mainspring.api.body import answer
from mainspring.api.caller import Caller, Requester
from mainspring.api.cursor import read_cursor, write_cursor
from mainspring.api.document import write_json
from mainspring.api.executions import ExecutionQuery, run_page
from mainspring.api.finding import found_job
from mainspring.api.operations import operation
from mainspring.api.parameters import IfNoneMatch, PageQuery, Text, touching
from mainspring.api.ports import ApiPorts
from mainspring.api.preconditions import tag, unchanged
from mainspring.api.representation import shown_job
from mainspring.api.schemas.executions import ExecutionList
from mainspring.api.schemas.jobs import Job, JobList
from mainspring.api.services import Services
from mainspring.api.words import job_word
from mainspring.domain.ids import JobId
from mainspring.domain.job import JobState
from mainspring.domain.run import State
from mainspring.ports.views import Cursor, JobFilter, JobRecord

KIND = "jobs"

# A first cut that the store makes by an index; which word a job has is decided by `job_word` alone.
_RUN_STATES = {
    "RUNNING": frozenset({State.RUNNING}),
    "COMPLETED": frozenset({State.SUCCEEDED}),
    "FAILED": frozenset({State.DEAD}),
    "CANCELLED": frozenset({State.CANCELLED}),
}


class JobQuery(PageQuery):
    """Which jobs to list."""

    status: Literal["SCHEDULED", "RUNNING", "COMPLETED", "FAILED", "CANCELLED", "PAUSED"] | None = None
    handler: Text | None = None
    owner: Text | None = None
    project: Text | None = None
    name: Text | None = None
    key: Text | None = None
    q: Text | None = None

    def filter(self, caller: Caller) -> JobFilter:
        """The store's part of it; whoever has a key sees only its owner's."""
        paused = {"PAUSED": JobState.PAUSED}.get(self.status or "", JobState.ACTIVE)
        owner = caller.visible if self.owner is None or caller.isolated else self.owner
        return JobFilter(
            owner=owner,
            project=self.project,
            name=self.name,
            handler=self.handler,
            key=self.key,
            states=None if self.status is None else frozenset({paused}),
            run_states=_RUN_STATES.get(self.status or ""),
            text=self.q,
        )

    def matches(self, record: JobRecord) -> bool:
        """The rest of it."""
        return self.status in (None, job_word(record.job, record.run)) and self.owner in (None, record.job.owner)


async def job_text(ports: ApiPorts, record: JobRecord) -> bytes:
    """The whole job with its payload, wherever that lies."""
    task = record.job.task
    payload = task.payload if task.blob is None else await ports.blobs.get(task.blob)
    return write_json(shown_job(record, payload))


def job_answer(record: JobRecord, text: bytes, status: int = 200) -> Response:
    """The job as an answer, with its tag."""
    return Response(text, status, {"ETag": tag(record.job.version, text)}, media_type="application/json")


def jobs_router(services: Services) -> APIRouter:
    """The endpoints over *services*."""
    router = APIRouter(prefix="/jobs", tags=["jobs"])
    ports = services.ports

    @router.get("", **operation("List jobs, newest first", JobList))
    async def list_jobs(query: Annotated[JobQuery, Query()], caller: Requester) -> Response:
        cursor = Cursor(before=read_cursor(KIND, query.cursor), limit=query.limit)
        page = await ports.views.jobs(query.filter(caller), cursor)
        items = [
            shown_job(record, None if record.job.task.blob else record.job.task.payload)
            for record in page.items
            if query.matches(record)
        ]
        return answer({"items": items, "next": write_cursor(KIND, page.next)})

    @router.get("/{job_id}", **operation("Show a job", Job, errors=(404,), tagged=True, unchanged=True))
    async def get_job(job_id: UUID, caller: Requester, if_none_match: IfNoneMatch = None) -> Response:
        record = await found_job(ports.views, JobId(job_id), touching(caller))
        response = job_answer(record, await job_text(ports, record))
        if unchanged(if_none_match, response.headers["ETag"]):
            return Response(status_code=304, headers={"ETag": response.headers["ETag"]})
        return response

    @router.get("/{job_id}/executions", **operation("List a job's executions", ExecutionList, errors=(404,)))
    async def list_executions_of_job(
        job_id: UUID, query: Annotated[ExecutionQuery, Query()], caller: Requester
    ) -> Response:
        await found_job(ports.views, JobId(job_id), touching(caller))
        return answer(await run_page(ports, query, caller.owner if caller.isolated else None, JobId(job_id)))

    return router
