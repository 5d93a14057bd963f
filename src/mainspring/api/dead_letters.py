"""`/api/v1/dead-letter`: what has failed for good and waits for somebody's decision."""

from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Query, Request, Response

from mainspring.api.body import answer, read_fields
from mainspring.api.caller import Caller, Requester
from mainspring.api.cursor import read_cursor, write_cursor
from mainspring.api.executions import accepted, found_run
from mainspring.api.operations import operation
from mainspring.api.parameters import PageQuery, Text
from mainspring.api.representation import shown_letter, shown_run
from mainspring.api.requests import read_as
from mainspring.api.schemas.dead_letters import DeadLetterList, DiscardRequest, Requeued, RequeueRequest
from mainspring.api.schemas.executions import Execution
from mainspring.api.services import Services
from mainspring.domain.ids import JobId
from mainspring.domain.run import Run
from mainspring.errors import Invalid
from mainspring.ports.views import Cursor, DeadFilter

KIND = "dead letters"


class DeadLetterQuery(PageQuery):
    """Which dead letters to list."""

    job_id: UUID | None = None
    handler: Text | None = None
    fingerprint: Text | None = None


def dead_letters_router(services: Services) -> APIRouter:
    """The endpoints over *services*."""
    router = APIRouter(prefix="/dead-letter", tags=["dead letters"])
    ports, retrying = services.ports, services.retrying

    async def note(caller: Caller, action: str, run: Run, after: dict[str, str] | None) -> None:
        await services.trail.note(caller, action, f"run:{run.id}", owner=run.owner, job_id=run.job_id, after=after)

    @router.get("", **operation("List dead letters, newest first", DeadLetterList))
    async def list_dead_letters(query: Annotated[DeadLetterQuery, Query()], caller: Requester) -> Response:
        where = DeadFilter(
            owner=caller.visible,
            job_id=None if query.job_id is None else JobId(query.job_id),
            handler=query.handler,
            fingerprint=query.fingerprint,
        )
        page = await ports.views.dead_letters(where, Cursor(before=read_cursor(KIND, query.cursor), limit=query.limit))
        return answer({"items": [shown_letter(each) for each in page.items], "next": write_cursor(KIND, page.next)})

    @router.post(
        "/requeue",
        **operation("Run dead letters again that fit", Requeued, 202, body=RequeueRequest, body_required=False),
    )
    async def requeue_dead_letters(request: Request, caller: Requester) -> Response:
        wanted = read_as(RequeueRequest, await read_fields(request))
        where = DeadFilter(
            owner=caller.visible,
            job_id=None if wanted.job_id is None else JobId(_identity(wanted.job_id)),
            handler=wanted.handler,
            fingerprint=wanted.fingerprint,
        )
        letters, more = await retrying.matching(where, wanted.limit)
        for letter in letters:
            caller.check_handler(letter.run.task.handler)
        answers = await retrying.requeue_all([letter.run for letter in letters])
        created = [run for run, is_new in answers if is_new]
        if created:
            await services.trail.note(
                caller,
                "dead_letter.requeue_matching",
                "dead-letter",
                owner=caller.owner,
                before=wanted.model_dump(exclude_none=True),
                after={"requeued": len(created), "executions": [str(run.id) for run in created]},
            )
        items = [shown_run(run, run.result) for run in created]
        return answer({"requeued": len(created), "items": items, "more": more}, 202)

    @router.post("/{run_id}/requeue", **operation("Run a dead letter again", Execution, 202, errors=(404, 409)))
    async def requeue_dead_letter(run_id: UUID, caller: Requester) -> Response:
        run = await found_run(ports, run_id, caller)
        caller.check_handler(run.task.handler)
        new, created = await retrying.requeue(run)
        if created:
            await note(caller, "dead_letter.requeue", run, {"execution": str(new.id)})
        return accepted(new)

    @router.post(
        "/{run_id}/discard",
        **operation(
            "Take it off the list", Execution, 202, body=DiscardRequest, body_required=False, errors=(404, 409)
        ),
    )
    async def discard_dead_letter(run_id: UUID, request: Request, caller: Requester) -> Response:
        given = read_as(DiscardRequest, await read_fields(request))
        run = await found_run(ports, run_id, caller)
        await retrying.discard(run)
        await note(caller, "dead_letter.discard", run, None if given.reason is None else {"reason": given.reason})
        return accepted(run)

    return router


def _identity(text: str) -> UUID:
    try:
        return UUID(text)
    except ValueError:
        raise Invalid("must be the id of a job", field="job_id") from None
