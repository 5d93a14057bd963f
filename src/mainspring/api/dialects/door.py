"""What the dialects share: the way of a job in, and the way to one that is there."""

from collections.abc import Mapping
from functools import partial
from typing import Any

from fastapi import Request

from mainspring.api.body import read_body
from mainspring.api.caller import Caller
from mainspring.api.document import Document, Raw, read_object, write_json
from mainspring.api.finding import found_job
from mainspring.api.parameters import touching
from mainspring.api.requests import InvalidFields
from mainspring.api.services import Services
from mainspring.api.submission import Submission, Submitted
from mainspring.api.submitting import creation
from mainspring.domain.ids import JobId
from mainspring.domain.schedule import parse
from mainspring.errors import InvalidSchedule
from mainspring.ports.views import JobRecord

RECURS = "must recur, like 0 6 * * * or @every 5m"


class Door:
    """Takes native fields and gives records; the dialects do nothing but rename them."""

    def __init__(self, services: Services) -> None:
        self._services = services

    async def submit(
        self, caller: Caller, fields: Mapping[str, Any], *, key: str | None, at_start: bool = False
    ) -> Submitted:
        """Store the job that native *fields* describe, where `Raw` texts are kept as they are."""
        document = read_object(write_json(dict(fields)))
        submission = Submission.of(document, owner=caller.visible, key=key, at_start=at_start)
        return await self._services.submissions.submit(submission, caller.check_handler, partial(creation, caller))

    async def record(self, caller: Caller, job_id: JobId) -> JobRecord:
        """The job, or NotFound if there is none that the caller may see."""
        return await found_job(self._services.ports.views, job_id, touching(caller))

    async def payload(self, record: JobRecord) -> bytes:
        """The job's payload, wherever it lies."""
        task = record.job.task
        return task.payload if task.blob is None else await self._services.ports.blobs.get(task.blob)


async def sent(request: Request) -> Document:
    """The object that the body is; one without members if there is no body."""
    body = await read_body(request)
    return read_object(body) if body else Document({}, None)


def kept(document: Document) -> Raw:
    """The payload as it was sent; null if there was none."""
    return Raw(document.payload or b"null")


def renamed(native: Mapping[str, Any], names: Mapping[str, str]) -> dict[str, Any]:
    """The members of a native object that *names* lists, each under its name in the dialect."""
    return {name: native[source] for name, source in names.items()}


def check_schedule(field: str, text: str, kind: Any, fault: str) -> None:
    """InvalidFields under the dialect's own name if *text* isn't a schedule of that *kind*."""
    try:
        fits = isinstance(parse(text), kind)
    except InvalidSchedule as error:
        raise InvalidFields({field: str(error)}) from None
    if not fits:
        raise InvalidFields({field: fault})
