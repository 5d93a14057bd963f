"""`/api/v1/jobs`: submitting and finding jobs."""

from typing import Annotated, Literal
from uuid import UUID

from fastapi import APIRouter, Header, Query, Request, Response
from pydantic import BaseModel, ConfigDict, Field

from mainspring.api.body import answer, read_body
from mainspring.api.executions import ExecutionQuery, run_page
from mainspring.api.ports import ApiPorts
from mainspring.api.representation import shown_job
from mainspring.api.submission import Submission, Submissions
from mainspring.api.words import job_word
from mainspring.domain.ids import JobId
from mainspring.domain.job import JobState
from mainspring.domain.run import State
from mainspring.errors import NotFound
from mainspring.ports.views import Cursor, JobFilter

Owner = Annotated[str | None, Header(alias="X-User-ID", min_length=1, max_length=200)]
IdempotencyKey = Annotated[str | None, Header(alias="Idempotency-Key", min_length=1, max_length=200)]

# A first cut that the store makes by an index; which word a job has is decided by `job_word` alone.
_RUN_STATES = {
    "RUNNING": frozenset({State.RUNNING}),
    "COMPLETED": frozenset({State.SUCCEEDED}),
    "FAILED": frozenset({State.DEAD}),
    "CANCELLED": frozenset({State.CANCELLED}),
}


class JobQuery(BaseModel):
    """Which jobs to list."""

    model_config = ConfigDict(extra="forbid")

    status: Literal["SCHEDULED", "RUNNING", "COMPLETED", "FAILED", "CANCELLED", "PAUSED"] | None = None
    handler: str | None = None
    owner: str | None = None
    project: str | None = None
    name: str | None = None
    key: str | None = None
    q: str | None = None
    cursor: UUID | None = None
    limit: Annotated[int, Field(ge=1, le=100)] = 50

    def filter(self, owner: str | None) -> JobFilter:
        """The store's part of it; *owner* comes with the request."""
        paused = {"PAUSED": JobState.PAUSED}.get(self.status or "", JobState.ACTIVE)
        return JobFilter(
            owner=self.owner if self.owner is not None else owner,
            project=self.project,
            name=self.name,
            handler=self.handler,
            key=self.key,
            states=None if self.status is None else frozenset({paused}),
            run_states=_RUN_STATES.get(self.status or ""),
            text=self.q,
        )


async def found_job(ports: ApiPorts, job_id: UUID, status: int = 200) -> Response:
    """The whole job with its payload, wherever that lies."""
    record = await ports.views.job(JobId(job_id))
    if record is None:
        raise NotFound(f"there is no job {job_id}")
    task = record.job.task
    payload = task.payload if task.blob is None else await ports.blobs.get(task.blob)
    return answer(shown_job(record, payload), status)


def jobs_router(ports: ApiPorts) -> APIRouter:
    """The endpoints over *ports*."""
    router = APIRouter(prefix="/jobs")
    submissions = Submissions(
        work=ports.work,
        views=ports.views,
        blobs=ports.blobs,
        clock=ports.clock,
        random=ports.random,
        builtin=ports.builtin,
    )

    @router.post("")
    async def submit(request: Request, owner: Owner = None, key: IdempotencyKey = None) -> Response:
        submission = Submission.read(await read_body(request), owner=owner, key=key)
        submitted = await submissions.submit(submission)
        response = await found_job(ports, submitted.id, 201 if submitted.created else 200)
        response.headers["Location"] = f"/api/v1/jobs/{submitted.id}"
        return response

    @router.get("")
    async def list_jobs(query: Annotated[JobQuery, Query()], owner: Owner = None) -> Response:
        page = await ports.views.jobs(query.filter(owner), Cursor(before=query.cursor, limit=query.limit))
        items = [
            shown_job(record, None if record.job.task.blob else record.job.task.payload)
            for record in page.items
            if query.status in (None, job_word(record.job, record.run))
        ]
        return answer({"items": items, "next": None if page.next is None else str(page.next)})

    @router.get("/{job_id}")
    async def get_job(job_id: UUID) -> Response:
        return await found_job(ports, job_id)

    @router.get("/{job_id}/executions")
    async def list_executions(job_id: UUID, query: Annotated[ExecutionQuery, Query()]) -> Response:
        if await ports.views.job(JobId(job_id)) is None:
            raise NotFound(f"there is no job {job_id}")
        return answer(await run_page(ports, query, JobId(job_id)))

    return router
