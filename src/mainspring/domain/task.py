"""What to execute: the part of a job that each of its runs copies, so that later edits don't touch the run."""

from datetime import timedelta

from mainspring.domain.hot import hot
from mainspring.domain.ids import DEFAULT_LANE, BlobId, Lane
from mainspring.domain.retry import DEFAULT_RETRY, RetryPolicy

LOWEST_PRIORITY, DEFAULT_PRIORITY, HIGHEST_PRIORITY = 0, 50, 100
DEFAULT_TIMEOUT = timedelta(minutes=5)
ADMIN_HANDLERS = frozenset({"system.cleanup"})
"""Handlers that act on what belongs to all owners: only an administrator may have them executed."""
BACKSTOP = timedelta(seconds=30)
"""A run that nobody has settled this long after its timeout is taken away from its holder."""


@hot
class Task:
    """A handler's name, its input and the terms under which it runs."""

    handler: str
    payload: bytes = b"null"
    """The JSON text as the user gave it, byte for byte; empty where *blob* holds it."""
    blob: BlobId | None = None
    lane: Lane = DEFAULT_LANE
    priority: int = DEFAULT_PRIORITY
    timeout: timedelta = DEFAULT_TIMEOUT
    retry: RetryPolicy = DEFAULT_RETRY
    trace: str | None = None
    """Where the trace of whoever asked for this goes on, as a W3C traceparent; nobody's business but the tracing's."""
