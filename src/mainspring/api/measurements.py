"""Everything that a process measures about itself, in one place; each thing is counted once."""

from collections.abc import Callable, Iterable, Iterator

from mainspring.api.instruments import DURATIONS, Counts, Family, Histogram, Kind, Sample
from mainspring.domain.plan import SkipReason
from mainspring.errors import LACKS
from mainspring.version import __version__

LOCK_OPERATIONS = ("acquire", "takeover", "renew", "release")
LOCK_RESULTS = ("ok", "refused", "error")
STORE_OPERATIONS = ("add", "claim", "due", "fire", "settle", "start", "steer", "take")
TICKET_EVENTS = ("published", "unpublished", "received", "refused", "unreadable")
BLOB_OPERATIONS = ("upload", "download")


class Measurements:
    """The instruments of one process."""

    def __init__(self) -> None:
        self.requests = Counts(
            "http_requests_total", "Requests that this process answered.", ("method", "path", "status")
        )
        self.request_seconds = Histogram(
            "mainspring_http_request_seconds",
            "From when a request came until its answer began, by this process.",
            labels=("method", "path"),
        )
        self.job_seconds = Histogram(
            "job_duration_seconds", "How long attempts took in their handlers, in this process.", DURATIONS
        )
        self.attempts = Counts(
            "mainspring_attempts_total", "Attempts that this process executed, by outcome.", ("handler", "outcome")
        )
        self.lock_seconds = Histogram(
            "lock_lwt_latency_seconds", "How long the store took to acquire, renew or release a lock."
        )
        self.lock_operations = Counts(
            "lock_operations_total",
            "What this process asked of locks, and what came of it.",
            ("operation", "result"),
            [(operation, result) for operation in LOCK_OPERATIONS for result in LOCK_RESULTS],
        )
        self.store_seconds = Histogram(
            "mainspring_store_seconds",
            "How long the store took for one batch, by operation.",
            labels=("operation",),
            known=[(operation,) for operation in STORE_OPERATIONS],
        )
        self.store_errors = Counts(
            "mainspring_store_errors_total",
            "Operations that the store didn't answer as it should.",
            ("operation",),
            [(operation,) for operation in STORE_OPERATIONS],
        )
        self.skips = Counts(
            "mainspring_skips_total",
            "Ranges of moments that this process let pass without a run, by reason.",
            ("reason",),
            [(SkipReason.MISFIRE.value,), (SkipReason.OVERLAP.value,)],
        )
        self.blobs = Counts(
            "mainspring_blob_operations_total",
            "Large payloads and results that were stored or read.",
            ("operation",),
            [(operation,) for operation in BLOB_OPERATIONS],
        )
        self.tickets = Counts(
            "mainspring_tickets_total",
            "Tickets of due runs that went to a broker or came from one, in this process, and those worth nothing.",
            ("event",),
            [(event,) for event in TICKET_EVENTS],
        )
        self.shortages = Counts(
            "mainspring_shortages_total",
            "Executions that this process handed back because it lacked what it takes to begin them.",
            ("lack",),
            [(lack,) for lack in LACKS],
        )
        self.verdicts_refused = 0
        """Which the worker of this process keeps."""
        self.sources: list[Callable[[], Iterable[Family]]] = []
        """What measures itself."""

    def families(self) -> Iterator[Family]:
        """What this process has measured so far."""
        yield Family("mainspring_info", Kind.GAUGE, "The version that runs.", [Sample({"version": __version__}, 1)])
        refused = "Ended executions whose outcome the store refuses, kept by this process."
        yield Family("mainspring_verdicts_refused", Kind.GAUGE, refused, [Sample({}, self.verdicts_refused)])
        yield from (counts.family() for counts in self._counters())
        for histogram in (self.request_seconds, self.job_seconds, self.lock_seconds, self.store_seconds):
            yield histogram.family()
        for source in self.sources:
            yield from source()

    def _counters(self) -> tuple[Counts, ...]:
        events = (self.store_errors, self.skips, self.tickets, self.blobs, self.shortages)
        return (self.requests, self.attempts, self.lock_operations, *events)
