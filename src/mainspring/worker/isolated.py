"""The child's side of an isolated handler, and the words that both sides use. Only JSON passes between them."""

import asyncio
import base64
import importlib
import inspect
from datetime import datetime, timedelta
from functools import reduce
from typing import Any
from uuid import UUID

from mainspring.domain.ids import Fence, JobId, RunId, SessionId
from mainspring.domain.outcome import Failed, Outcome, Snoozed, Succeeded
from mainspring.domain.retry import LONGEST_DELAY
from mainspring.domain.run import Attempt
from mainspring.domain.task import Task
from mainspring.ports.output import Printed
from mainspring.worker.context import Context
from mainspring.worker.execution import Execution
from mainspring.worker.outcomes import failure_of, result_text


def request_for(execution: Execution) -> dict[str, Any]:
    """The arguments of `call` in the child."""
    attempt = execution.attempt
    return {
        "address": execution.handler.address,
        "arguments": execution.handler.arguments,
        "payload": execution.payload.decode(),
        "run": {
            "run_id": attempt.run_id.hex,
            "job_id": attempt.job_id.hex,
            "fence": attempt.fence,
            "attempt": attempt.attempt,
            "owner": attempt.owner,
            "project": attempt.project,
            "handler": attempt.task.handler,
            "due_at": attempt.due_at.isoformat(),
            "started_at": attempt.started_at.isoformat(),
            "timeout": attempt.task.timeout.total_seconds(),
            "trace": None if execution.context is None else execution.context.traceparent,
        },
    }


def call(address: str, arguments: int, payload: str, run: dict[str, Any]) -> dict[str, Any]:
    """Call the handler at *address*; whatever comes of it is an answer, never an exception."""
    context = Context(_attempt_from(run), payload=payload.encode())
    try:
        module, _, name = address.partition(":")
        function: Any = reduce(getattr, name.split("."), importlib.import_module(module))
        taken = (context.payload, context)[:arguments] if arguments else ()
        value = function(*taken)
        if inspect.iscoroutine(value):
            value = asyncio.run(value)
        text = result_text(value)
        answer: dict[str, Any] = {"result": None if text is None else text.decode()}
    except BaseException as error:  # noqa: BLE001 - an exit of the handler is a failure of its run, not of the worker
        answer = _failure_answer(failure_of(error))
    return answer | {"output": _output_of(context)}


def outcome_from(answer: dict[str, Any]) -> Outcome:
    """The child's answer as an outcome; a result may still be too large to be kept inline."""
    if "snooze" in answer:
        return Snoozed(delay=timedelta(seconds=answer["snooze"]))
    if "error" in answer:
        after = answer["retry_after"]
        return Failed(
            error=answer["error"],
            permanent=answer["permanent"],
            retry_after=None if after is None else timedelta(seconds=after),
        )
    return Succeeded(result=None if answer["result"] is None else answer["result"].encode())


def printed_from(answer: dict[str, Any], attempt: Attempt) -> Printed | None:
    """What the handler printed in the child."""
    output = answer["output"]
    if output is None:
        return None
    return Printed(
        run_id=attempt.run_id,
        fence=attempt.fence,
        head=base64.b64decode(output["head"]),
        tail=base64.b64decode(output["tail"]),
        length=output["length"],
        progress=output["progress"],
        message=output["message"],
    )


def _failure_answer(failure: Failed | Snoozed) -> dict[str, Any]:
    if isinstance(failure, Snoozed):
        return {"snooze": min(failure.delay, LONGEST_DELAY).total_seconds()}
    after = failure.retry_after
    return {
        "error": failure.error,
        "permanent": failure.permanent,
        "retry_after": None if after is None else min(after, LONGEST_DELAY).total_seconds(),
    }


def _output_of(context: Context) -> dict[str, Any] | None:
    printed = context.take_printed()
    if printed is None:
        return None
    return {
        "head": base64.b64encode(printed.head).decode(),
        "tail": base64.b64encode(printed.tail).decode(),
        "length": printed.length,
        "progress": printed.progress,
        "message": printed.message,
    }


def _attempt_from(run: dict[str, Any]) -> Attempt:
    return Attempt(
        run_id=RunId(UUID(hex=run["run_id"])),
        job_id=JobId(UUID(hex=run["job_id"])),
        session=SessionId(0),
        fence=Fence(run["fence"]),
        attempt=run["attempt"],
        failures=0,
        losses=0,
        due_at=datetime.fromisoformat(run["due_at"]),
        started_at=datetime.fromisoformat(run["started_at"]),
        owner=run["owner"],
        project=run["project"],
        task=Task(handler=run["handler"], timeout=timedelta(seconds=run["timeout"]), trace=run["trace"]),
    )
