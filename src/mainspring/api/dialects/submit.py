"""`/submit`, `/job` and `GET /jobs`: jobs of a user, whose payload may be a shell command."""

from collections.abc import Mapping
from typing import Annotated, Any
from urllib.parse import urlencode
from uuid import UUID

from fastapi import APIRouter, Query, Request, Response
from starlette.exceptions import HTTPException

from mainspring.api.body import answer
from mainspring.api.caller import OWNER_HEADER, Caller, Requester
from mainspring.api.cursor import read_cursor, write_cursor
from mainspring.api.dialects.door import Door, sent
from mainspring.api.dialects.submit_job import shown, shown_run
from mainspring.api.dialects.submit_request import SubmitRequest, native_fields
from mainspring.api.jobs import KIND
from mainspring.api.operations import operation
from mainspring.api.parameters import IdempotencyKey, PageQuery
from mainspring.api.requests import InvalidFields, read_as
from mainspring.api.schemas.dialects import SubmittedJob, UserJob, UserJobs
from mainspring.api.services import Services
from mainspring.domain.ids import JobId
from mainspring.domain.run import State
from mainspring.ports.views import Cursor, JobFilter, RunFilter

RUNS = 10
PAGE = 100
_RAN = frozenset(State) - {State.SKIPPED}
_HEADER = {
    "name": OWNER_HEADER,
    "in": "header",
    "required": True,
    "description": "Whose jobs are meant; not needed with an API key, which says so itself.",
    "schema": {"type": "string", "minLength": 1, "maxLength": 200},
}
_ID = {"name": "id", "in": "query", "required": True, "schema": {"type": "string", "format": "uuid"}}


class UserJobQuery(PageQuery):
    """Which of the user's jobs."""

    limit: Annotated[int, Query(ge=1, le=PAGE, description="How many at most.")] = PAGE


def submit_router(services: Services) -> APIRouter:
    """The endpoints over *services*."""
    router = APIRouter(tags=["submit"])
    door, ports = Door(services), services.ports

    @router.post(
        "/submit",
        **_with(_HEADER, operation("Submit a job", SubmittedJob, 202, body=SubmitRequest, errors=(400, 409))),
    )
    async def submit_user_job(request: Request, caller: Requester, key: IdempotencyKey = None) -> Response:
        _check_user(caller)
        wanted = read_as(SubmitRequest, (await sent(request)).fields)
        submitted = await door.submit(caller, native_fields(wanted), key=key, at_start=wanted.recurs_from_a_start)
        told = {"job_id": str(submitted.id), "status": "Submitted", "message": "Job submitted successfully"}
        return answer(told, 202, {"Location": f"/job?id={submitted.id}"})

    @router.get("/job", **_with(_ID, operation("Show a job and its latest runs", UserJob, errors=(400, 404))))
    async def get_user_job(request: Request, caller: Requester) -> Response:
        record = await door.record(caller, _asked_for(request))
        page = await ports.views.runs(RunFilter(job_id=record.job.id, states=_RAN), Cursor(limit=RUNS))
        runs = [shown_run(run, await ports.output.read(run.id)) for run in page.items]
        return answer({**shown(record, await door.payload(record)), "runs": runs})

    @router.get("/jobs", **_with(_HEADER, operation("List a user's jobs, newest first", UserJobs, errors=(400,))))
    async def list_user_jobs(query: Annotated[UserJobQuery, Query()], caller: Requester) -> Response:
        _check_user(caller)
        cursor = Cursor(before=read_cursor(KIND, query.cursor), limit=query.limit)
        page = await ports.views.jobs(JobFilter(owner=caller.owner), cursor)
        following = write_cursor(KIND, page.next)
        headers = {} if following is None else {"Link": _next(following, query.limit)}
        items = [shown(record, None if record.job.task.blob else record.job.task.payload) for record in page.items]
        return answer(items, headers=headers)

    return router


def _check_user(caller: Caller) -> None:
    if not caller.named:
        raise HTTPException(400, f"the header {OWNER_HEADER} is missing: it says whose jobs are meant")


def _asked_for(request: Request) -> JobId:
    """Read here, because the framework has its own answer to a parameter that is missing."""
    text = request.query_params.get("id")
    if not text:
        raise HTTPException(400, "the parameter id is missing: /job?id=…")
    try:
        return JobId(UUID(text))
    except ValueError:
        raise InvalidFields({"id": "must be a UUID"}) from None


def _with(parameter: Mapping[str, Any], described: dict[str, Any]) -> dict[str, Any]:
    extra: Mapping[str, Any] = described.get("openapi_extra", {})
    return {**described, "openapi_extra": {**extra, "parameters": [parameter]}}


def _next(cursor: str, limit: int) -> str:
    return f'</jobs?{urlencode({"cursor": cursor, "limit": limit})}>; rel="next"'
