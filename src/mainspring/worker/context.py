"""What a handler knows about its run and may ask of its worker."""

import asyncio
import threading
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

import structlog

from mainspring.domain.ids import Fence, JobId, RunId
from mainspring.domain.run import Attempt
from mainspring.errors import ConfigurationError
from mainspring.logs import logger_through
from mainspring.ports.locks import Leases, owned
from mainspring.ports.output import Printed
from mainspring.ports.time import Clock
from mainspring.ports.transactions import Transactions
from mainspring.worker.cancellation import Cancellation
from mainspring.worker.guarding import Guarded
from mainspring.worker.leases import lease
from mainspring.worker.output import Transcript
from mainspring.worker.payload import parsed

DEFAULT_LOCK_TTL = timedelta(seconds=30)
_UNPARSED = object()
_guard = threading.Lock()
"""Held while a transcript is made, because threads of one handler may print at once."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Toolbox:
    """What all contexts of a worker share."""

    locks: Leases | None = None
    clock: Clock | None = None
    loop: asyncio.AbstractEventLoop | None = None
    """The worker's, which holds locks for threads."""
    transactions: Transactions | None = None
    printed: Callable[["Context"], None] | None = None
    """Called from any thread when a context has output that nobody has taken yet."""


_NO_TOOLS = Toolbox()


class Context:
    """One attempt in the hands of a handler.

    Most handlers look at little of this, and ten thousand contexts are made per second: everything but the attempt
    itself is made when it is first asked for.
    """

    __slots__ = (
        "_attempt",
        "_cancelled",
        "_changed",
        "_log",
        "_message",
        "_parsed",
        "_progress",
        "_started_at",
        "_text",
        "_tools",
        "_traceparent",
        "_transcript",
    )

    def __init__(
        self,
        attempt: Attempt,
        *,
        payload: bytes | None = None,
        started_at: datetime | None = None,
        tools: Toolbox = _NO_TOOLS,
    ) -> None:
        self._attempt = attempt
        self._text = attempt.task.payload if payload is None else payload
        self._started_at = started_at
        self._tools = tools
        self._traceparent = attempt.task.trace
        self._parsed: Any = _UNPARSED
        self._cancelled: Cancellation | None = None
        self._transcript: Transcript | None = None
        self._progress: float | None = None
        self._message: str | None = None
        self._changed = False
        self._log: structlog.stdlib.BoundLogger | None = None

    @property
    def run_id(self) -> RunId:
        """The run; stays the same over all its attempts."""
        return self._attempt.run_id

    @property
    def job_id(self) -> JobId:
        """The job that the run belongs to."""
        return self._attempt.job_id

    @property
    def attempt(self) -> int:
        """Which attempt this is; the first is 1."""
        return self._attempt.attempt

    @property
    def fence(self) -> Fence:
        """Greater than that of every earlier attempt of this run: hand it to what must refuse a late writer."""
        return self._attempt.fence

    @property
    def owner(self) -> str:
        """Whose run this is."""
        return self._attempt.owner

    @property
    def project(self) -> str:
        """The project that the run was filed under."""
        return self._attempt.project

    @property
    def handler(self) -> str:
        """The name under which the handler was called."""
        return self._attempt.task.handler

    @property
    def due_at(self) -> datetime:
        """When the run was meant to happen, whatever has delayed it since."""
        return self._attempt.due_at

    @property
    def deadline(self) -> datetime:
        """When the attempt will be stopped."""
        return (self._started_at or self._attempt.started_at) + self._attempt.task.timeout

    @property
    def traceparent(self) -> str | None:
        """The place of this attempt in its trace, as W3C defines it, to be handed on; None if nothing is traced."""
        return self._traceparent

    @property
    def payload_text(self) -> bytes:
        """The payload's JSON text, byte for byte as it was submitted."""
        return self._text

    @property
    def payload(self) -> Any:
        """The payload, parsed."""
        if self._parsed is _UNPARSED:
            self._parsed = parsed(self._text)
        return self._parsed

    @property
    def cancelled(self) -> Cancellation:
        """Set once the handler should stop: somebody cancelled the run, its time is up, or the worker shuts down.

        Also once a thread has lost a lock: nothing else could tell it.
        """
        if self._cancelled is None:
            self._cancelled = Cancellation()
        return self._cancelled

    @property
    def log(self) -> structlog.stdlib.BoundLogger:
        """A logger with the run's fields; what it says also becomes part of the run's output."""
        if self._log is None:
            self._log = _logger_of(self)
        return self._log

    def print(self, text: str | bytes) -> None:
        """Append to the run's output, exactly as given; safe from any thread."""
        transcript = self._transcript
        if transcript is None:
            with _guard:
                transcript = self._transcript = self._transcript or Transcript()
        transcript.append(text.encode("utf-8", "backslashreplace") if isinstance(text, str) else text)
        self._note_change()

    def progress(self, fraction: float, message: str | None = None) -> None:
        """Say how far the run has come, from 0 to 1 (what lies outside is taken for the nearer end)."""
        self._progress = max(0.0, min(float(fraction), 1.0))
        self._message = message
        self._note_change()

    def lock(self, name: str, *, ttl: timedelta = DEFAULT_LOCK_TTL, wait: timedelta | None = None) -> Guarded:
        """Hold the lock *name* during a block, renewed all the while; LockBusy after *wait* (None: never).

        `async with` in a coroutine, `with` in a thread. If the lock is lost, a coroutine's block is stopped, a thread
        is asked to by `cancelled`, and LockLost is raised at the end of it. Hand the lock's fence to the resource: only
        the resource can refuse a holder that is late.
        """
        if self._tools.locks is None or self._tools.clock is None:
            raise ConfigurationError("locks aren't available here: isolated handlers run without a store")
        holder = f"run/{self.run_id}/{self.fence}"
        locks, clock, owned_name = self._tools.locks, self._tools.clock, owned(self.owner, name)
        return Guarded(
            lambda: lease(locks, clock, owned_name, holder, ttl=ttl, wait=wait),
            loop=self._tools.loop,
            cancelled=lambda: self.cancelled,
        )

    def transaction(self) -> AbstractAsyncContextManager[Any]:
        """A connection to the store's own database, in a transaction that commits together with this run's success.

        Whatever the block changes there happens exactly once: if the run was taken from this attempt meanwhile, or the
        block raises, nothing is committed. What the handler does or returns afterwards doesn't count any more.
        """
        if self._tools.transactions is None:
            raise ConfigurationError(
                "context.transaction() needs a store that is a PostgreSQL database, and a handler that isn't isolated"
            )
        return self._tools.transactions.settling(self.run_id, self.fence)

    def receive(self, payload: bytes) -> None:
        """Replace a payload that was kept elsewhere; for the worker, before the handler is called."""
        self._text = payload

    def enter(self, traceparent: str | None) -> None:
        """Name the span that the attempt is within; for the worker, before the handler is called."""
        self._traceparent = traceparent

    def take_printed(self) -> Printed | None:
        """The output so far if it has changed since this was last asked, else None; for the worker."""
        if not self._changed:
            return None
        self._changed = False
        head, tail, length = self._transcript.snapshot() if self._transcript else (b"", b"", 0)
        return Printed(
            run_id=self.run_id,
            fence=self.fence,
            head=head,
            tail=tail,
            length=length,
            progress=self._progress,
            message=self._message,
        )

    def _note_change(self) -> None:
        if not self._changed:
            self._changed = True
            if self._tools.printed is not None:
                self._tools.printed(self)


def _logger_of(context: Context) -> structlog.stdlib.BoundLogger:
    def copy_to_output(_: Any, method: str, event: structlog.typing.EventDict) -> structlog.typing.EventDict:
        extras = "".join(f" {key}={value!r}" for key, value in event.items() if key not in fields and key != "event")
        context.print(f"{method}: {event.get('event', '')}{extras}\n")
        return event

    fields = {"run_id": str(context.run_id), "attempt": context.attempt, "handler": context.handler}
    return logger_through(copy_to_output, "mainspring.handler").bind(**fields)
