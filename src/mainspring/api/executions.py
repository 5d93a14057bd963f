"""`/api/v1/executions`: what ran, runs and will run."""

from typing import Annotated, Any, Literal
from uuid import UUID

from fastapi import APIRouter, Query, Response
from pydantic import BaseModel, ConfigDict, Field

from mainspring.api.body import answer
from mainspring.api.ports import ApiPorts
from mainspring.api.representation import shown_run
from mainspring.api.words import EXECUTION_STATES
from mainspring.domain.ids import JobId, RunId
from mainspring.errors import NotFound
from mainspring.ports.views import Cursor, RunFilter


class ExecutionQuery(BaseModel):
    """Which executions to list."""

    model_config = ConfigDict(extra="forbid")

    status: Literal["PENDING", "RUNNING", "COMPLETED", "FAILED", "CANCELLED", "SKIPPED"] | None = None
    worker: str | None = None
    handler: str | None = None
    cursor: UUID | None = None
    limit: Annotated[int, Field(ge=1, le=100)] = 50


async def run_page(ports: ApiPorts, query: ExecutionQuery, job_id: JobId | None = None) -> dict[str, Any]:
    """A page of executions; results that lie in blobs are left to the single execution."""
    where = RunFilter(
        job_id=job_id,
        states=None if query.status is None else frozenset({EXECUTION_STATES[query.status]}),
        worker=query.worker,
        handler=query.handler,
    )
    page = await ports.views.runs(where, Cursor(before=query.cursor, limit=query.limit))
    items = [shown_run(run, run.result) for run in page.items]
    return {"items": items, "next": None if page.next is None else str(page.next)}


def executions_router(ports: ApiPorts) -> APIRouter:
    """The endpoints over *ports*."""
    router = APIRouter(prefix="/executions")

    @router.get("")
    async def list_executions(query: Annotated[ExecutionQuery, Query()]) -> Response:
        return answer(await run_page(ports, query))

    @router.get("/{run_id}")
    async def get_execution(run_id: UUID) -> Response:
        run = await ports.views.run(RunId(run_id))
        if run is None:
            raise NotFound(f"there is no execution {run_id}")
        result = run.result if run.result_blob is None else await ports.blobs.get(run.result_blob)
        return answer(shown_run(run, result, await ports.output.read(run.id)))

    return router
