"""Jobs and their runs as those who change them need to see them."""

from collections.abc import Sequence

from mainspring.api.preconditions import Check
from mainspring.domain.ids import JobId, RunId
from mainspring.domain.job import Job
from mainspring.domain.run import Run, State
from mainspring.errors import NotFound
from mainspring.ports.views import Cursor, JobRecord, RunFilter, Views

_PAGE = 100
_LIVE = frozenset({State.WAITING, State.RUNNING})


def allowed(_job: Job) -> None:
    """The check that everything passes."""


async def found_job(views: Views, job_id: JobId, check: Check = allowed) -> JobRecord:
    """The job, once *check* has let it pass; NotFound if there is none."""
    record = await views.job(job_id)
    if record is None:
        raise NotFound(f"there is no job {job_id}")
    check(record.job)
    return record


async def first_run(views: Views, job: Job) -> Run | None:
    """The run that a one-shot job is, whatever was triggered beside it; None for a standing job."""
    return await views.run(RunId(job.id))


async def live_runs(views: Views, job_id: JobId) -> Sequence[Run]:
    """Every run of the job that waits or runs."""
    where = RunFilter(job_id=job_id, states=_LIVE)
    found: list[Run] = []
    cursor = Cursor(limit=_PAGE)
    while True:
        page = await views.runs(where, cursor)
        found.extend(page.items)
        if page.next is None:
            return found
        cursor = Cursor(before=page.next, limit=_PAGE)
