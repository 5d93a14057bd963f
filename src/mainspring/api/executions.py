"""`/api/v1/executions`: what ran, runs and will run."""

from typing import Annotated, Any, Literal
from uuid import UUID

from fastapi import APIRouter, Query, Response

from mainspring.api.attempts import attempts_of
from mainspring.api.body import answer
from mainspring.api.caller import Caller, Requester
from mainspring.api.cursor import read_cursor, write_cursor
from mainspring.api.operations import operation
from mainspring.api.parameters import IdempotencyKey, PageQuery, Text
from mainspring.api.ports import ApiPorts
from mainspring.api.representation import shown_run
from mainspring.api.schemas.executions import AttemptList, Execution, ExecutionList
from mainspring.api.services import Services
from mainspring.api.words import EXECUTION_STATES, execution_word
from mainspring.domain.ids import JobId, RunId
from mainspring.domain.run import Run
from mainspring.errors import NotFound, WrongState
from mainspring.ports.views import Cursor, RunFilter
from mainspring.ports.work import Cancel, Effect

KIND = "executions"


class ExecutionQuery(PageQuery):
    """Which executions to list."""

    status: Literal["PENDING", "RUNNING", "COMPLETED", "FAILED", "CANCELLED", "SKIPPED"] | None = None
    worker: Text | None = None
    handler: Text | None = None


async def run_page(
    ports: ApiPorts, query: ExecutionQuery, owner: str | None, job_id: JobId | None = None
) -> dict[str, Any]:
    """A page of executions; results that lie in blobs are left to the single execution."""
    where = RunFilter(
        owner=owner,
        job_id=job_id,
        states=None if query.status is None else frozenset({EXECUTION_STATES[query.status]}),
        worker=query.worker,
        handler=query.handler,
    )
    page = await ports.views.runs(where, Cursor(before=read_cursor(KIND, query.cursor), limit=query.limit))
    items = [shown_run(run, run.result) for run in page.items]
    return {"items": items, "next": write_cursor(KIND, page.next)}


async def found_run(ports: ApiPorts, run_id: UUID, caller: Caller) -> Run:
    """The run, or NotFound if there is none that the caller may see."""
    run = await ports.views.run(RunId(run_id))
    if run is None:
        raise NotFound(f"there is no execution {run_id}")
    caller.check(run.owner, f"execution {run_id}")
    return run


def accepted(run: Run) -> Response:
    """An execution that is new, or about to change."""
    return answer(shown_run(run, run.result), 202, {"Location": f"/api/v1/executions/{run.id}"})


def executions_router(services: Services) -> APIRouter:
    """The endpoints over *services*."""
    router = APIRouter(prefix="/executions", tags=["executions"])
    ports, trail = services.ports, services.trail

    @router.get("", **operation("List executions, newest first", ExecutionList))
    async def list_executions(query: Annotated[ExecutionQuery, Query()], caller: Requester) -> Response:
        return answer(await run_page(ports, query, caller.visible))

    @router.get("/{run_id}", **operation("Show an execution with its result and output", Execution, errors=(404,)))
    async def get_execution(run_id: UUID, caller: Requester) -> Response:
        run = await found_run(ports, run_id, caller)
        result = run.result if run.result_blob is None else await ports.blobs.get(run.result_blob)
        return answer(shown_run(run, result, await ports.output.read(run.id)))

    @router.get("/{run_id}/attempts", **operation("List an execution's attempts", AttemptList, errors=(404,)))
    async def list_attempts(run_id: UUID, caller: Requester) -> Response:
        return answer({"items": attempts_of(await found_run(ports, run_id, caller)), "next": None})

    @router.post("/{run_id}/cancel", **operation("Cancel an execution", Execution, 202, errors=(404, 409)))
    async def cancel_execution(run_id: UUID, caller: Requester) -> Response:
        run = await found_run(ports, run_id, caller)
        steered = await ports.work.steer(run.id, Cancel())
        if steered.effect is Effect.MISSING:
            raise NotFound(f"there is no execution {run_id}")
        if steered.effect not in (Effect.DONE, Effect.FLAGGED):
            word = execution_word(run.state if steered.state is None else steered.state)
            raise WrongState(f"only what waits or runs can be cancelled, and this execution is {word}")
        after = await found_run(ports, run_id, caller)
        before = {"status": execution_word(run.state)}
        await trail.note(
            caller,
            "execution.cancel",
            f"run:{run.id}",
            owner=run.owner,
            job_id=run.job_id,
            before=before,
            after={"status": execution_word(after.state), "cancelling": after.cancelling},
        )
        return accepted(after)

    @router.post("/{run_id}/retry", **operation("Run an execution again", Execution, 202, errors=(404, 409)))
    async def retry_execution(run_id: UUID, caller: Requester, key: IdempotencyKey = None) -> Response:
        run = await found_run(ports, run_id, caller)
        caller.check_handler(run.task.handler)
        new, created = await services.retrying.retry(run, key)
        if created:
            subject = f"run:{run.id}"
            after = {"execution": str(new.id)}
            await trail.note(caller, "execution.retry", subject, owner=run.owner, job_id=run.job_id, after=after)
        return accepted(new)

    return router
