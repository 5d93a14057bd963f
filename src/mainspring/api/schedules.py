"""POST `/api/v1/schedules/preview`: when a schedule would fire."""

from collections.abc import Iterator
from datetime import datetime
from itertools import islice
from uuid import UUID

from fastapi import APIRouter, Request, Response

from mainspring.api.body import answer, read_fields
from mainspring.api.composing import Timing, timing_of
from mainspring.api.operations import operation
from mainspring.api.representation import instant
from mainspring.api.requests import DaylightSavingRequest, JobRequest, read_as
from mainspring.api.schemas.cluster import Preview, PreviewRequest
from mainspring.api.services import Services
from mainspring.domain.ids import JobId
from mainspring.domain.job import Job
from mainspring.domain.moments import Moments
from mainspring.domain.reschedule import first_moment
from mainspring.domain.task import Task

_NOBODY = JobId(UUID(int=0))


def schedules_router(services: Services) -> APIRouter:
    """The endpoint over *services*."""
    router = APIRouter(prefix="/schedules", tags=["schedules"])

    @router.post("/preview", **operation("Show the next fire times", Preview, body=PreviewRequest))
    async def preview_schedule(request: Request) -> Response:
        wanted = read_as(PreviewRequest, await read_fields(request))
        timing = _timing(wanted.schedule, wanted.timezone, wanted.starts_at, wanted.dst)
        moments = islice(_moments(timing, await services.ports.views.now()), wanted.count)
        terms = timing.terms
        items = [instant(moment) for moment in moments]
        return answer({"schedule": terms.schedule, "timezone": terms.timezone, "items": items, "next": None})

    return router


def _timing(schedule: str, timezone: str, starts_at: str | None, dst: DaylightSavingRequest) -> Timing:
    return timing_of(JobRequest(handler="preview", schedule=schedule, timezone=timezone, starts_at=starts_at, dst=dst))


def _moments(timing: Timing, now: datetime) -> Iterator[datetime]:
    if timing.due is not None:
        yield timing.due if isinstance(timing.due, datetime) else now + timing.due
        return
    job = Job(id=_NOBODY, task=Task(handler=""), created_at=now, updated_at=now, terms=timing.terms)
    moment = first_moment(job, now)
    if moment is None:
        return
    moments = Moments.of(job, moment)
    while moment is not None:
        yield moment
        moment = moments.after(moment)
