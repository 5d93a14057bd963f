"""Executions as spans: how long a run waited, then what its handler did, as children of whoever asked for the run."""

import json
from datetime import datetime

from mainspring.domain.ids import moment_of
from mainspring.domain.outcome import Failed, Outcome
from mainspring.domain.run import Attempt
from mainspring.ports.observing import OUTCOME_WORDS
from mainspring.ports.output import Printed
from mainspring.ports.tracing import Attributes, Kind, Span
from mainspring.worker.calling import Caller, Finish, Note
from mainspring.worker.execution import Execution
from mainspring.worker.settings import WorkerPorts


class TracedCaller:
    """A `Caller` within spans. The handler's is current while it runs, in its thread too; a child process is told."""

    def __init__(self, ports: WorkerPorts, finish: Finish, lacking: Note) -> None:
        self._tracing = ports.tracing
        self._finish = finish
        self._caller = Caller(ports, self._note, lacking)
        self._spans: dict[int, Span] = {}
        """By the execution's identity."""

    async def execute(self, execution: Execution) -> None:
        """As `Caller.execute`."""
        attempt = execution.attempt
        handler, parent, attributes = attempt.task.handler, attempt.task.trace, attributes_of(attempt)
        self._tracing.record(
            f"wait {handler}",
            parent=parent,
            began=waiting_since(attempt),
            ended=attempt.started_at,
            attributes=attributes,
        )
        with self._tracing.span(f"execute {handler}", Kind.CONSUMER, parent=parent, attributes=attributes) as span:
            self._spans[id(execution)] = span
            if execution.context is not None:
                execution.context.enter(span.traceparent)
            try:
                await self._caller.execute(execution)
            finally:
                del self._spans[id(execution)]

    def _note(self, execution: Execution, outcome: Outcome, printed: Printed | None) -> None:
        span = self._spans[id(execution)]
        span.tell({"mainspring.outcome": OUTCOME_WORDS[type(outcome)]})
        if isinstance(outcome, Failed):
            span.fail(outcome.error.partition("\n")[0])
        self._finish(execution, outcome, printed)


def caller_for(ports: WorkerPorts, finish: Finish, lacking: Note) -> Caller | TracedCaller:
    """Decided once, so that an execution that nobody traces costs nothing."""
    return (TracedCaller if ports.tracing.enabled else Caller)(ports, finish, lacking)


def attributes_of(attempt: Attempt) -> Attributes:
    """What people look for."""
    return {
        "mainspring.job_id": str(attempt.job_id),
        "mainspring.run_id": str(attempt.run_id),
        "mainspring.attempt": attempt.attempt,
        "mainspring.fence": attempt.fence,
        "mainspring.handler": attempt.task.handler,
        "mainspring.lane": attempt.task.lane,
        "mainspring.owner": attempt.owner,
        "mainspring.worker": attempt.worker,
    }


def waiting_since(attempt: Attempt) -> datetime:
    """When the attempt before ended, or else when the run was due; no earlier than the run was made."""
    if attempt.log:
        return datetime.fromisoformat(json.loads(attempt.log)[-1]["completed_at"])
    return max(attempt.due_at, moment_of(attempt.run_id))
