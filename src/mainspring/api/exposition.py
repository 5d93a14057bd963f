"""Metrics in the text format that collectors read. Counted once, in the store; the names' synonyms are made here."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import timedelta
from itertools import accumulate

from mainspring.api.counting import Requests
from mainspring.api.figures import totals
from mainspring.domain.run import Origin
from mainspring.ports.sessions import Member
from mainspring.ports.views import WAIT_BUCKETS, Figures, Tally
from mainspring.version import __version__

Labels = Mapping[str, str]
Sample = tuple[Labels, float]

_NONE: Labels = {}
_LAST = "+Inf"


def process_metrics(requests: Requests) -> Iterator[str]:
    """What this process counted itself."""
    yield from _metric("mainspring_info", "gauge", "The version that runs.", [({"version": __version__}, 1)])
    samples = [
        ({"method": method, "path": path, "status": str(status)}, count) for (method, path, status), count in requests
    ]
    yield from _metric("http_requests_total", "counter", "Requests that this process answered.", samples)


def cluster_metrics(figures: Figures, workers: Sequence[Member]) -> Iterator[str]:
    """What the store knows about everybody; each process shows the same."""
    by_type = {origin: [tally for tally in figures.tallies if tally.origin is origin] for origin in Origin}
    sums = totals(figures.tallies)
    ended = [({"status": "success"}, sums["completed"]), ({"status": "failed"}, sums["failed"])]
    all_ended = [*ended, ({"status": "cancelled"}, sums["cancelled"])]
    yield from _metric("jobs_scheduled_total", "counter", "Executions that were created.", _typed(by_type, "added"))
    yield from _metric("jobs_completed_total", "counter", "Executions that ended, by how.", all_ended)
    yield from _metric("jobs_failed_total", "counter", "Executions that failed for good.", _one(sums["failed"]))
    yield from _metric("jobs_pending_total", "gauge", "Executions that wait.", _typed(by_type, "waiting"))
    yield from _metric("active_workers_total", "gauge", "Workers that are alive.", _one(len(workers)))
    yield from _metric(
        "job_retries_total", "counter", "Attempts that failed and were tried again.", _one(sums["retried"])
    )
    yield from _waits(figures.tallies)
    for name in ("jobs_processed_total", "jobs_executed_total"):
        yield from _metric(name, "counter", "The same as jobs_completed_total.", ended)
    yield from _metric("jobs_in_progress", "gauge", "Executions that run.", _one(figures.running))
    yield from _metric("jobs_dlq_total", "gauge", "Dead letters that wait for a decision.", _one(figures.dead_letters))
    yield from _ours(figures, workers, sums)


def _ours(figures: Figures, workers: Sequence[Member], sums: Mapping[str, int]) -> Iterator[str]:
    lanes = sorted({tally.lane for tally in figures.tallies})
    live = [({"lane": lane}, sum(t.live for t in figures.tallies if t.lane == lane)) for lane in lanes]
    capacity = sum(worker.capacity for worker in workers)
    executing = sum(worker.executing for worker in workers)
    yield from _metric("mainspring_live_runs", "gauge", "Executions that haven't ended, by lane.", live)
    yield from _metric("mainspring_starts_total", "counter", "Hand-overs to workers.", _one(sums["started"]))
    yield from _metric("mainspring_lost_total", "counter", "Attempts lost with their workers.", _one(sums["lost"]))
    yield from _metric("mainspring_skipped_total", "counter", "Moments that got no run.", _one(sums["skipped"]))
    yield from _metric("mainspring_worker_slots", "gauge", "What all live workers can run at once.", _one(capacity))
    yield from _metric("mainspring_worker_slots_used", "gauge", "How much of that is in use.", _one(executing))


def _typed(by_type: Mapping[Origin, Sequence[Tally]], what: str) -> Iterable[Sample]:
    return [({"job_type": origin.name.lower()}, totals(tallies)[what]) for origin, tallies in by_type.items()]


def _waits(tallies: Sequence[Tally]) -> Iterator[str]:
    """Starts by how late they were."""
    counts = [sum(tally.waits[index] for tally in tallies if tally.waits) for index in range(len(WAIT_BUCKETS) + 1)]
    bounds = [*(f"{bucket.total_seconds():g}" for bucket in WAIT_BUCKETS), _LAST]
    name = "job_queue_wait_seconds"
    yield f"# HELP {name} From when an execution could start until it did."
    yield f"# TYPE {name} histogram"
    for bound, count in zip(bounds, accumulate(counts), strict=True):
        yield f'{name}_bucket{{le="{bound}"}} {count}'
    yield f"{name}_sum {sum((tally.waited for tally in tallies), timedelta(0)).total_seconds()}"
    yield f"{name}_count {sum(counts)}"


def _one(value: float) -> Iterable[Sample]:
    return [(_NONE, value)]


def _metric(name: str, kind: str, text: str, samples: Iterable[Sample]) -> Iterator[str]:
    yield f"# HELP {name} {text}"
    yield f"# TYPE {name} {kind}"
    for labels, value in samples:
        written = ",".join(f'{label}="{_escaped(each)}"' for label, each in labels.items())
        yield f"{name}{{{written}}} {value}" if written else f"{name} {value}"


def _escaped(text: str) -> str:
    return text.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")
