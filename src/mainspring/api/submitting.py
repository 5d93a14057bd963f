"""POST `/api/v1/jobs` and `/api/v1/jobs/batch`.

A single submission is the request that comes in numbers, so that it is answered before the framework's machinery:
after the guards, like every other. The OpenAPI document describes it all the same.
"""

import json
import re
from collections.abc import Sequence
from functools import partial
from typing import Any

from fastapi import APIRouter, Request, Response
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from mainspring.api.body import read_body, receive_body
from mainspring.api.caller import Caller, Requester, caller_of_scope
from mainspring.api.document import read_objects, write_json
from mainspring.api.operations import operation, request_body, responses
from mainspring.api.preconditions import tag
from mainspring.api.problems import problem_of, refused
from mainspring.api.requests import NOT_PRINTABLE, PRINTABLE, InvalidFields, JobRequest
from mainspring.api.schemas.jobs import MAX_BATCH, Batch, BatchAnswer, Job
from mainspring.api.services import Services
from mainspring.api.submission import Submission, Submitted
from mainspring.domain.ids import JobId
from mainspring.errors import MainspringError
from mainspring.ports.audit import Entry

MAX_BATCH_BODY = 32 * 1024 * 1024
PATH = "/api/v1/jobs"
MAX_NOTED = 8192
"""How long a job's text may be to stand in the audit as it is."""
_KEY = b"idempotency-key"
_LONGEST_KEY = 200
_KEY_TEXT = re.compile(PRINTABLE)


class SubmitJob:
    """Stores one job and answers with it; the application answers everything else."""

    def __init__(self, app: ASGIApp, *, services: Services) -> None:
        self._app = app
        self._submissions = services.submissions

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer the request."""
        if scope["type"] != "http" or scope["path"] != PATH or scope["method"] != "POST":
            await self._app(scope, receive, send)
            return
        scope["endpoint"] = self
        try:
            submitted = await self._submitted(scope, receive)
        except MainspringError as error:
            response = problem_of(error)
        except HTTPException as refusal:
            response = refused(refusal)
        except ClientDisconnect:
            return
        else:
            await send(_start(submitted))
            await send({"type": "http.response.body", "body": submitted.text})
            return
        await response(scope, receive, send)

    async def _submitted(self, scope: Scope, receive: Receive) -> Submitted:
        caller = caller_of_scope(scope)
        key = _key(scope)
        body = await receive_body(scope, receive)
        submission = Submission.read(body, owner=caller.visible, key=key)
        return await self._submissions.submit(submission, caller.check_handler, partial(creation, caller))


def _start(submitted: Submitted) -> Message:
    """How the answer begins."""
    headers = [
        (b"location", f"{PATH}/{submitted.id}".encode()),
        (b"etag", tag(submitted.version, submitted.text).encode()),
        (b"content-length", str(len(submitted.text)).encode()),
        (b"content-type", b"application/json"),
    ]
    return {"type": "http.response.start", "status": 201 if submitted.created else 200, "headers": headers}


def submit_operation() -> dict[str, Any]:
    """What the OpenAPI document says about it."""
    answers = responses(Job, 201, (408, 409, 413, 415), tagged=True)
    again = {**answers[201], "description": "The key was used before for the same body: this is that job"}
    location = {"Location": {"description": "Where the job is.", "schema": {"type": "string"}}}
    created = {**answers[201], "headers": {**answers[201]["headers"], **location}}
    return {
        "tags": ["jobs"],
        "summary": "Submit a job",
        "operationId": "submit_job",
        "parameters": [
            {
                "name": "Idempotency-Key",
                "in": "header",
                "required": False,
                "description": "Makes a repeated request harmless: the answer is the first job. The same as `key`.",
                "schema": {"type": "string", "minLength": 1, "maxLength": _LONGEST_KEY, "pattern": PRINTABLE},
            }
        ],
        "requestBody": request_body(JobRequest),
        "responses": {str(code): each for code, each in {200: again, **answers, 201: created}.items()},
    }


def batch_router(services: Services) -> APIRouter:
    """Batches over *services*."""
    router = APIRouter(prefix="/jobs", tags=["jobs"])

    @router.post(
        "/batch",
        **operation("Submit up to 10,000 jobs, all or none", BatchAnswer, 201, body=Batch, errors=(409,)),
    )
    async def submit_batch(request: Request, caller: Requester) -> Response:
        batch = read_objects(await read_body(request, MAX_BATCH_BODY), "jobs", MAX_BATCH)
        note = partial(_creation_of_all, caller)
        submitted = await services.submissions.submit_all(batch, caller.visible, caller.check_handler, note)
        items = b",".join([each.text for each in submitted])
        existing = write_json([index for index, each in enumerate(submitted) if not each.created])
        text = b"".join((b'{"items":[', items, b'],"existing":', existing, b"}"))
        return Response(text, 201, media_type="application/json")

    @router.api_route("/batch", methods=["GET", "PUT", "PATCH", "DELETE"], include_in_schema=False)
    async def refuse_other_methods() -> Response:
        """Or else `batch` would be taken for the id of a job."""
        raise HTTPException(405, "only POST is for batches", {"Allow": "POST"})

    return router


def creation(caller: Caller, submitted: Submitted) -> Entry:
    """What the audit says about a job that *caller* made."""
    return Entry(
        actor=caller.actor,
        owner=submitted.owner,
        action="job.create",
        subject=f"job:{submitted.id}",
        job_id=submitted.id,
        after=_brief(submitted),
    )


def _creation_of_all(caller: Caller, owner: str, jobs: Sequence[JobId]) -> Entry:
    """The same for a batch: what was made, without what is in it."""
    after = write_json({"count": len(jobs), "jobs": [str(job) for job in jobs]})
    return Entry(actor=caller.actor, owner=owner, action="job.create_batch", subject="jobs", after=after)


def _brief(submitted: Submitted) -> bytes:
    """A job as the audit keeps it: whole, unless its payload is long; the job itself has that."""
    if len(submitted.text) <= MAX_NOTED:
        return submitted.text
    return write_json({**json.loads(submitted.text), "payload": "left out"})


def _key(scope: Scope) -> str | None:
    given = [value for name, value in scope["headers"] if name == _KEY]
    if not given:
        return None
    key: str = given[0].decode("latin-1")
    if len(given) > 1 or not 0 < len(key) <= _LONGEST_KEY:
        raise InvalidFields({"Idempotency-Key": f"must be sent once, with 1 to {_LONGEST_KEY} characters"})
    if _KEY_TEXT.fullmatch(key) is None:
        raise InvalidFields({"Idempotency-Key": NOT_PRINTABLE})
    return key
