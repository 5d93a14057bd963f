"""A run that executes, and how it may come to be stopped."""

import asyncio
from enum import Enum, auto
from typing import Any, assert_never

from mainspring.domain.outcome import Cancelled, Failed, HandedBack, Lost, Outcome
from mainspring.domain.run import Attempt
from mainspring.worker.context import Context
from mainspring.worker.payload import parsed
from mainspring.worker.registry import Handler, Kind


class Cause(Enum):
    """Why a run is being stopped."""

    TIMEOUT = auto()
    CANCEL = auto()
    DRAIN = auto()
    TAKEN = auto()
    """Somebody else may have it by now: whatever comes of it here doesn't count."""


class Execution:
    """One call of a handler. The executor alone changes it."""

    __slots__ = (
        "act_at",
        "attempt",
        "began_at",
        "cause",
        "closed",
        "context",
        "entered",
        "handler",
        "hard",
        "payload",
        "task",
        "timer",
    )

    def __init__(
        self, attempt: Attempt, handler: Handler, context: Context | None, began_at: float, act_at: float
    ) -> None:
        self.attempt = attempt
        self.handler = handler
        self.context = context
        """None for handlers that don't take it."""
        self.payload = attempt.task.payload
        self.began_at = began_at
        self.act_at = act_at
        """When the reaper must look, by the monotonic clock: at the deadline, or when a grace is over."""
        self.cause: Cause | None = None
        self.hard = False
        """Whether stopping has gone beyond asking."""
        self.entered = False
        """Whether the task has taken its first step: cancelled before that, it would never run a line."""
        self.closed = False
        """Whether its outcome is decided; it may still occupy its slot."""
        self.task: asyncio.Task[None] | None = None
        self.timer: asyncio.Task[None] | None = None

    def receive(self, payload: bytes) -> None:
        """The payload was elsewhere; here it is."""
        self.payload = payload
        if self.context is not None:
            self.context.receive(payload)

    def arguments(self) -> tuple[Any, ...]:
        """What the handler takes of (payload, context)."""
        count = self.handler.arguments
        if count == 0:
            return ()
        if self.context is None:
            return (parsed(self.payload),)
        return (self.context.payload, self.context) if count > 1 else (self.context.payload,)

    @property
    def stoppable(self) -> bool:
        """Whether it can be ended from outside; a thread can't."""
        return self.handler.kind is not Kind.THREAD

    def ask_to_stop(self, cause: Cause) -> None:
        """Set the handler's cancel event."""
        self.cause = cause
        if self.context is not None:
            self.context.cancelled.set()

    def stopped_outcome(self) -> Outcome:
        """What is reported for a run that was stopped and didn't succeed all the same."""
        match self.cause:
            case Cause.TIMEOUT:
                return Failed(error=f"timed out after {self.attempt.task.timeout.total_seconds():g} s")
            case Cause.CANCEL:
                return Cancelled()
            case Cause.DRAIN:
                return HandedBack(reason="the worker was shut down")
            case Cause.TAKEN | None:
                return Lost(reason="the worker was stopped")
            case _:
                assert_never(self.cause)
