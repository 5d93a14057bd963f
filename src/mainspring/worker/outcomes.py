"""What a handler returned or raised, in the domain's words."""

import asyncio
import json
import traceback
from types import TracebackType
from typing import Any

from mainspring.domain.outcome import Failed, Snoozed
from mainspring.worker.flow import Abandon, Fail, RetryAfter, Snooze
from mainspring.worker.payload import Verbatim

MAX_INLINE_RESULT = 4096
"""Results over this many bytes go to the blobs."""
_ON_THE_WAY = (
    "mainspring.adapters.",
    "mainspring.worker.calling",
    "mainspring.worker.isolated",
    "asyncio.",
    "concurrent.",
    "threading",
)


class UnusableResult(Exception):
    """The handler returned something that JSON has no words for."""


def result_text(value: Any) -> bytes | None:
    """The result as JSON text, None for None; NaN and infinities aren't JSON, whatever Python's default says."""
    if value is None:
        return None
    if isinstance(value, Verbatim):
        return value.text
    try:
        return json.dumps(value, allow_nan=False, ensure_ascii=False, separators=(",", ":")).encode()
    except (TypeError, ValueError, RecursionError) as error:
        raise UnusableResult(f"the handler's result can't be stored as JSON: {error}") from None


def failure_of(error: BaseException) -> Failed | Snoozed:
    """What follows from an exception; every kind of exception is at worst a failure of its own run."""
    match error:
        case Snooze(delay=delay):
            return Snoozed(delay=delay)
        case RetryAfter(delay=delay):
            return Failed(error=str(error), retry_after=delay)
        case Abandon():
            return Failed(error=str(error) or "abandoned", permanent=True)
        case Fail() | UnusableResult():
            return Failed(error=str(error))
        case asyncio.CancelledError():
            return Failed(error="CancelledError: the handler cancelled itself")
        case _:
            return Failed(error=described(error))


def described(error: BaseException) -> str:
    """One line that says what happened, then where in the handler."""
    headline = traceback.format_exception_only(error)[-1].strip()
    inner = _within_the_handler(error.__traceback__)
    if inner is None:
        return headline
    return headline + "\n" + "".join(traceback.format_exception(type(error), error, inner))


def _within_the_handler(trace: TracebackType | None) -> TracebackType | None:
    """Without the outermost frames, which are the way from the worker to the handler."""
    while trace is not None and trace.tb_frame.f_globals.get("__name__", "").startswith(_ON_THE_WAY):
        trace = trace.tb_next
    return trace
