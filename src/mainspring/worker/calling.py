"""The call of a handler, from its payload to its outcome. Whatever a handler does, the worker outlives it."""

import asyncio
import functools
import math
from collections.abc import Callable
from datetime import timedelta
from typing import Any

from mainspring.domain.outcome import HandedBack, Outcome, Succeeded
from mainspring.errors import Exhausted, StoreError
from mainspring.ports.output import Printed
from mainspring.worker import isolated
from mainspring.worker.backoff import Backoff
from mainspring.worker.execution import Execution
from mainspring.worker.outcomes import MAX_INLINE_RESULT, failure_of, result_text
from mainspring.worker.registry import Kind
from mainspring.worker.settings import WorkerPorts

NO_PAYLOAD_DELAY = timedelta(seconds=5)
_NOTHING = Succeeded()

Finish = Callable[[Execution, Outcome, Printed | None], None]
Note = Callable[[Exhausted], None]


class Caller:
    """Runs one task per execution; tells *finish* what came of it, exactly once, and *lacking* what it lacked."""

    def __init__(self, ports: WorkerPorts, finish: Finish, lacking: Note) -> None:
        self._ports = ports
        self._finish = finish
        self._lacking = lacking

    async def execute(self, execution: Execution) -> None:
        """Call the handler where it belongs and report."""
        execution.entered = True
        printed: Printed | None = None
        try:
            if execution.attempt.task.blob is not None and not await self._fetch_payload(execution):
                return
            kind = execution.handler.kind
            if kind is Kind.ASYNC:
                value = await execution.handler.function(*execution.arguments())
                outcome: Outcome = (
                    _NOTHING if value is None else await self._kept(execution, Succeeded(result=result_text(value)))
                )
            elif kind is Kind.THREAD:
                # The payload is parsed in the thread, too: a large one would hold up the loop.
                value = await self._ports.tasks.in_thread(functools.partial(_call, execution))
                outcome = (
                    _NOTHING if value is None else await self._kept(execution, Succeeded(result=result_text(value)))
                )
            else:
                request = isolated.request_for(execution)
                answer = await self._ports.tasks.in_process(isolated.call, request)
                printed = isolated.printed_from(answer, execution.attempt)
                outcome = await self._kept(execution, isolated.outcome_from(answer))
        except Exhausted as lack:
            # No attempt was made. What a handler's own code raises is no Exhausted: only we can tell what we lacked.
            self._lacking(lack)
            outcome = HandedBack(reason=str(lack)) if execution.cause is None else execution.stopped_outcome()
        except BaseException as error:  # noqa: BLE001 - an exit that a handler asks for is a failure of its run, no more
            outcome = _after(execution, error)
        self._finish(execution, outcome, printed)

    async def _fetch_payload(self, execution: Execution) -> bool:
        blob = execution.attempt.task.blob
        assert blob is not None  # noqa: S101 - asked for only where there is one
        try:
            execution.receive(await self._ports.blobs.get(blob))
        except StoreError as error:
            self._finish(execution, HandedBack(delay=NO_PAYLOAD_DELAY, reason=f"no payload: {error}"), None)
            return False
        return True

    async def _kept(self, execution: Execution, outcome: Outcome) -> Outcome:
        """Move a large result to the blobs, as long as that takes: the work is done and mustn't be done again."""
        if not isinstance(outcome, Succeeded) or outcome.result is None or len(outcome.result) <= MAX_INLINE_RESULT:
            return outcome
        execution.act_at = math.inf
        backoff = Backoff(self._ports.clock, self._ports.random)
        while True:
            try:
                return Succeeded(blob=await self._ports.blobs.put(outcome.result))
            except StoreError:
                await backoff.pause()


def _call(execution: Execution) -> Any:
    return execution.handler.function(*execution.arguments())


def _after(execution: Execution, error: BaseException) -> Outcome:
    if execution.cause is not None:
        return execution.stopped_outcome()
    task = asyncio.current_task()
    if isinstance(error, asyncio.CancelledError) and task is not None and task.cancelling():
        # Neither the worker's doing nor a plain exception: the loop is being torn down around us.
        return execution.stopped_outcome()
    return failure_of(error)
