"""Submitted tasks run at once, in the caller: for tests of the code that submits them."""

import asyncio
import inspect
import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from random import Random
from typing import Any
from uuid import UUID

from mainspring.application import App, Task
from mainspring.client import NewJob
from mainspring.domain.ids import RANDOM_BITS, Fence, JobId, RunId, SessionId, new_job_id
from mainspring.domain.run import Attempt
from mainspring.domain.task import Task as Work
from mainspring.testing.clock import START
from mainspring.worker.context import Context


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """A task that was submitted and has run."""

    task: str
    args: list[Any]
    kwargs: dict[str, Any]
    schedule: str | None
    """When it would have run, if that isn't now."""
    result: Any


@contextmanager
def inline(app: App) -> Iterator[list[Call]]:
    """Within the block, whatever *app*'s tasks are submitted for happens at once; the list says what has.

    Arguments and results pass through JSON as they would on their way to a worker. What a task raises reaches
    whoever submits it. Nothing is stored, nothing is tried again, and nobody waits for a schedule.
    """
    door = _InlineDoor()
    before, app.door = app.door, door
    try:
        yield door.calls
    finally:
        app.door = before


class _InlineDoor:
    def __init__(self) -> None:
        self.calls: list[Call] = []
        self._random = Random(0)
        self._results: dict[UUID, Any] = {}

    async def submit(self, task: Task[..., Any, Any], job: NewJob) -> UUID:
        job_id, payload, context = self._prepared(task, job)
        value = task.perform(payload, context)
        return self._done(job_id, task, job, await value if inspect.isawaitable(value) else value)

    def submit_blocking(self, task: Task[..., Any, Any], job: NewJob) -> UUID:
        job_id, payload, context = self._prepared(task, job)
        value = task.perform(payload, context)
        if inspect.iscoroutine(value):
            # The caller may stand in a loop that can't be entered again.
            with ThreadPoolExecutor(1) as pool:
                value = pool.submit(asyncio.run, value).result()
        return self._done(job_id, task, job, value)

    async def result(self, job_id: UUID, at_most: timedelta | None) -> Any:  # noqa: ARG002 - nobody waits
        return self._results[job_id]

    def result_blocking(self, job_id: UUID, at_most: timedelta | None) -> Any:  # noqa: ARG002 - nobody waits
        return self._results[job_id]

    def close(self) -> None:
        """There is nothing to let go of."""

    def _prepared(self, task: Task[..., Any, Any], job: NewJob) -> tuple[JobId, Any, Context]:
        job_id = new_job_id(START, self._random.getrandbits(RANDOM_BITS))
        text = json.dumps(job.body["payload"], allow_nan=False)
        return job_id, json.loads(text), Context(_attempt(job_id, task.name, text.encode(), START))

    def _done(self, job_id: JobId, task: Task[..., Any, Any], job: NewJob, value: Any) -> UUID:
        self._results[job_id] = result = json.loads(json.dumps(value, allow_nan=False))
        payload = job.body["payload"]
        schedule = job.body.get("schedule")
        self.calls.append(
            Call(task=task.name, args=payload["args"], kwargs=payload["kwargs"], schedule=schedule, result=result)
        )
        return job_id


def _attempt(job_id: JobId, handler: str, payload: bytes, now: datetime) -> Attempt:
    return Attempt(
        run_id=RunId(job_id),
        job_id=job_id,
        session=SessionId(0),
        fence=Fence(1),
        attempt=1,
        failures=0,
        losses=0,
        due_at=now,
        started_at=now,
        owner="",
        project="",
        task=Work(handler=handler, payload=payload),
    )
