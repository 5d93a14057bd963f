# Written by scripts/write_blocking.py from src/mainspring/client/asynchronous/executions.py. Don't edit.
"""Calls about executions and dead letters."""

import secrets
from collections.abc import Iterator, Sequence
from typing import Any
from uuid import UUID

from mainspring.client.blocking.calls import Calls
from mainspring.client.errors import Conflict
from mainspring.client.models import Attempt, DeadLetter, Execution, Job, Requeued
from mainspring.client.reading import read
from mainspring.client.requests import query

ExecutionRef = Execution | UUID | str
"""An execution, or its id."""


class ExecutionCalls(Calls):
    """Finding and steering executions, and deciding about dead letters."""

    def executions(
        self,
        *,
        job: Job | UUID | str | None = None,
        status: str | None = None,
        worker: str | None = None,
        handler: str | None = None,
        limit: int | None = None,
    ) -> Iterator[Execution]:
        """Executions, newest first, at most *limit*; without long results, which `execution` shows."""
        path = (
            "/executions" if job is None else f"/jobs/{job.id if isinstance(job, Job) else UUID(str(job))}/executions"
        )
        for each in self._pages(path, query(status=status, worker=worker, handler=handler), limit):
            yield read(Execution, each)

    def execution(self, execution: ExecutionRef) -> Execution:
        """The execution as it is now, with its result; NotFound if there is none."""
        return read(Execution, self._connection.get(_path(execution)))

    def attempts(self, execution: ExecutionRef) -> Sequence[Attempt]:
        """The tries of an execution, in their order."""
        answer = self._connection.get(_path(execution, "attempts"))
        return [read(Attempt, each) for each in self._items(answer)]

    def cancel_execution(self, execution: ExecutionRef) -> Execution:
        """End it: a waiting one at once, a running one within a heartbeat; Conflict if it has ended."""
        try:
            return read(Execution, self._connection.post(_path(execution, "cancel")))
        except Conflict as error:
            if error.tries == 1:
                raise
            return self.execution(execution)

    def retry_execution(self, execution: ExecutionRef) -> Execution:
        """A new execution of the same job, whose `retry_of` names this one; Conflict unless this one has failed."""
        return read(Execution, self._connection.post(_path(execution, "retry"), key=secrets.token_urlsafe(16)))

    def dead_letters(
        self,
        *,
        job: Job | UUID | str | None = None,
        handler: str | None = None,
        fingerprint: str | None = None,
        limit: int | None = None,
    ) -> Iterator[DeadLetter]:
        """Executions that have failed for good and wait for a decision, newest first, at most *limit*."""
        job_id = job.id if isinstance(job, Job) else job
        params = query(job_id=job_id, handler=handler, fingerprint=fingerprint)
        for each in self._pages("/dead-letter", params, limit):
            yield _dead_letter(each)

    def requeue(self, execution: ExecutionRef) -> Execution:
        """Run a dead letter again, by a new execution of its job."""
        path = f"/dead-letter/{_identity(execution)}/requeue"
        return read(Execution, self._connection.post(path))

    def requeue_all(
        self,
        *,
        job: Job | UUID | str | None = None,
        handler: str | None = None,
        fingerprint: str | None = None,
        limit: int | None = None,
    ) -> Requeued:
        """Run all dead letters again that fit, at most *limit*, 100 unless given; no letter twice."""
        job_id = job.id if isinstance(job, Job) else job
        wanted = {"handler": handler, "fingerprint": fingerprint, "limit": limit}
        body = query(job_id=job_id) | {name: value for name, value in wanted.items() if value is not None}
        return read(Requeued, self._connection.post("/dead-letter/requeue", body))

    def discard(self, execution: ExecutionRef) -> None:
        """Take a dead letter off the list; the execution stays in history."""
        try:
            self._connection.post(f"/dead-letter/{_identity(execution)}/discard")
        except Conflict as error:
            if error.tries == 1:
                raise
            # An earlier try did it, and its answer was lost.


def _identity(execution: ExecutionRef) -> UUID:
    return execution.id if isinstance(execution, Execution) else UUID(str(execution))


def _path(execution: ExecutionRef, verb: str = "") -> str:
    return f"/executions/{_identity(execution)}" + (f"/{verb}" if verb else "")


def _dead_letter(item: Any) -> DeadLetter:
    """The letter's own members stand beside those of its execution."""
    return read(DeadLetter, {**item, "execution": item} if isinstance(item, dict) else item)
