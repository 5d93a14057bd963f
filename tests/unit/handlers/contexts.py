"""Contexts for tests of handlers: real ones, of a run with known identity."""

from datetime import timedelta
from ipaddress import ip_network
from typing import Any
from uuid import UUID

from mainspring.domain.ids import Fence, JobId, RunId, SessionId
from mainspring.domain.run import Attempt
from mainspring.testing.clock import START
from mainspring.testing.factories import a_task
from mainspring.worker.context import Context
from mainspring.worker.handlers.addresses import Network

RUN = RunId(UUID("01937fd4-0000-7000-8000-00000000000a"))
JOB = JobId(UUID("01937fd4-0000-7000-8000-00000000000b"))


def a_context(*, payload: bytes | None = None, **fields: Any) -> Context:
    """The second attempt of a run, under fence 7."""
    defaults: dict[str, Any] = {
        "run_id": RUN,
        "job_id": JOB,
        "session": SessionId(1),
        "fence": Fence(7),
        "attempt": 2,
        "failures": 1,
        "losses": 0,
        "due_at": START,
        "started_at": START,
        "owner": "default",
        "project": "default",
        "task": a_task(timeout=timedelta(minutes=5)),
    }
    return Context(Attempt(**{**defaults, **fields}), payload=payload)


def output_of(context: Context) -> bytes:
    """All that is kept of what the handler printed."""
    printed = context.take_printed()
    return b"" if printed is None else printed.head + printed.tail


def networks(*texts: str) -> tuple[Network, ...]:
    """Networks by their text; a single address is a network of one."""
    return tuple(ip_network(text) for text in texts)
