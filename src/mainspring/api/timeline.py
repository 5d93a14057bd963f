"""GET `/api/v1/metrics/timeline`: a window step by step: what ended, what waited, how late it began, how long it took.

Like the statistics of a window it is counted from the executions themselves, and says from when on it covers them all.
"""

from bisect import bisect_left
from collections import Counter
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from itertools import accumulate
from typing import Annotated, Any
from uuid import UUID

from fastapi import APIRouter, Query, Response
from pydantic import BaseModel, ConfigDict, Field

from mainspring.api.body import answer
from mainspring.api.caller import Requester
from mainspring.api.finding import found_job
from mainspring.api.operations import operation
from mainspring.api.parameters import Text, touching
from mainspring.api.ports import ApiPorts
from mainspring.api.representation import duration_ms, instant, milliseconds
from mainspring.api.schemas.executions import Timeline
from mainspring.api.statistics import due_since, read_window, share
from mainspring.api.words import EXECUTION_STATES, execution_word
from mainspring.domain.ids import JobId, moment_of
from mainspring.domain.run import Run, State
from mainspring.ports.views import RunFilter, Views

MOST_STEPS = 400
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_ENDED = [word for word, state in EXECUTION_STATES.items() if state not in (State.WAITING, State.RUNNING)]


class TimelineQuery(BaseModel):
    """Which time to look at, in how many steps, and of which job."""

    model_config = ConfigDict(extra="forbid")

    window: Text = "1h"
    steps: Annotated[int, Field(ge=1, le=MOST_STEPS)] = 60
    job_id: UUID | None = None


def timeline_router(ports: ApiPorts) -> APIRouter:
    """The endpoint over *ports*."""
    router = APIRouter(prefix="/metrics/timeline", tags=["cluster"])

    @router.get("", **operation("Show what ended in each step of a window", Timeline, errors=(404,)))
    async def get_timeline(query: Annotated[TimelineQuery, Query()], caller: Requester) -> Response:
        job_id = None if query.job_id is None else JobId(query.job_id)
        if job_id is not None:
            await found_job(ports.views, job_id, touching(caller))
        where = RunFilter(owner=caller.visible, job_id=job_id)
        return answer(await timeline(ports.views, query.window, query.steps, where))

    return router


async def timeline(views: Views, window: str, steps: int, where: RunFilter) -> dict[str, Any]:
    """The last *window* in so many *steps*, oldest first.

    Steps begin at whole multiples of their length, the last one being under way: asked again, they are the same ones.
    """
    until = await views.now()
    step = read_window(window) / steps
    since = until - (until - _EPOCH) % step - step * (steps - 1)
    runs, complete = await due_since(views, since, where)
    covered = since if complete or not runs else max(since, moment_of(runs[-1].id))
    ended: list[list[Run]] = [[] for _ in range(steps)]
    for run in runs:
        at = _ended_at(run)
        if at is not None and since <= at <= until:
            ended[min(steps - 1, (at - since) // step)].append(run)
    ends = [min(until, since + step * (number + 1)) for number in range(steps)]
    return {
        "window": window,
        "since": instant(covered),
        "until": instant(until),
        "complete": complete,
        "step_ms": milliseconds(step),
        "items": [
            {**_step(since + step * number, each), "waiting": waiting}
            for number, (each, waiting) in enumerate(zip(ended, _waiting(runs, ends), strict=True))
        ],
    }


def _waiting(runs: Sequence[Run], moments: Sequence[datetime]) -> Sequence[int]:
    """How many of *runs* were due at each of the ascending *moments*, and hadn't begun."""
    changes = [0] * (len(moments) + 1)
    for run in runs:
        # When a later attempt began says nothing of the first.
        if run.attempt <= 1:
            begun = run.started_at or _ended_at(run)
            changes[bisect_left(moments, run.due_at)] += 1
            changes[len(moments) if begun is None else bisect_left(moments, max(begun, run.due_at))] -= 1
    return list(accumulate(changes))[:-1]


def _step(begin: datetime, runs: Sequence[Run]) -> dict[str, Any]:
    counts = Counter(execution_word(run.state) for run in runs)
    late = sorted(milliseconds(wait) for run in runs if (wait := _lateness(run)) is not None)
    took = sorted(took for run in runs if (took := duration_ms(run)) is not None)
    return {
        "at": instant(begin),
        "by_status": {word: counts[word] for word in _ENDED},
        "lateness_ms": {"p50": share(late, 0.5), "p95": share(late, 0.95)},
        "duration_ms": {"p50": share(took, 0.5), "p95": share(took, 0.95)},
    }


def _ended_at(run: Run) -> datetime | None:
    """When it ended, and for what was skipped when it would have begun; None for what hasn't ended."""
    if run.state in (State.WAITING, State.RUNNING):
        return None
    return run.finished_at or run.due_at


def _lateness(run: Run) -> timedelta | None:
    """How long after its moment it began; later attempts are late on purpose."""
    if run.started_at is None or run.attempt != 1:
        return None
    return max(timedelta(0), run.started_at - run.due_at)
