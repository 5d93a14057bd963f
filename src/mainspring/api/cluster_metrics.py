"""What the store knows about everybody, for collectors: counted by the store, so that each process shows the same."""

from collections.abc import Iterator, Mapping, Sequence
from datetime import timedelta

from mainspring.api.figures import totals
from mainspring.api.instruments import Family, Kind, Sample, histogram_samples
from mainspring.domain.run import Origin
from mainspring.ports.sessions import Member
from mainspring.ports.views import WAIT_BUCKETS, Figures, Tally

_BOUNDS = tuple(bucket.total_seconds() for bucket in WAIT_BUCKETS)


def cluster_metrics(figures: Figures, workers: Sequence[Member], schedulers: Sequence[Member]) -> Iterator[Family]:
    """Totals since the store began, and what is so now."""
    by_type = {origin: [tally for tally in figures.tallies if tally.origin is origin] for origin in Origin}
    sums = totals(figures.tallies)
    ended = {"success": sums["completed"], "failed": sums["failed"], "cancelled": sums["cancelled"]}
    yield _counter("jobs_scheduled_total", "Executions that were created.", _typed(by_type, "added"))
    yield _counter(
        "jobs_completed_total",
        "Executions that ended, by how.",
        [Sample({"status": status}, count) for status, count in ended.items()],
    )
    yield _counter("jobs_failed_total", "Executions that failed for good and became dead letters.", sums["failed"])
    yield _gauge("jobs_pending_total", "Executions that wait.", _typed(by_type, "waiting"))
    yield _gauge("jobs_in_progress", "Executions that run.", figures.running)
    yield _gauge("active_workers_total", "Workers that are alive.", len(workers))
    yield _counter("job_retries_total", "Attempts that failed and were tried again.", sums["retried"])
    yield _waits(figures.tallies)
    yield from _ours(figures, workers, schedulers, sums)


def _ours(
    figures: Figures, workers: Sequence[Member], schedulers: Sequence[Member], sums: Mapping[str, int]
) -> Iterator[Family]:
    lanes = sorted({tally.lane for tally in figures.tallies})
    live = [Sample({"lane": lane}, sum(t.live for t in figures.tallies if t.lane == lane)) for lane in lanes]
    serving = [Sample({"lane": lane}, sum(lane in worker.lanes for worker in workers)) for lane in lanes]
    capacity = sum(worker.capacity for worker in workers)
    executing = sum(worker.executing for worker in workers)
    yield _gauge("mainspring_live_runs", "Executions that haven't ended, by lane.", live)
    yield _gauge("mainspring_dead_letters", "Dead letters that wait for a decision.", figures.dead_letters)
    yield _counter("mainspring_starts_total", "Hand-overs to workers.", sums["started"])
    yield _counter("mainspring_lost_total", "Attempts lost with their workers.", sums["lost"])
    yield _counter("mainspring_skipped_total", "Moments that got no run.", sums["skipped"])
    yield _gauge("mainspring_schedulers", "Schedulers that are alive.", len(schedulers))
    yield _gauge("mainspring_lane_workers", "Live workers that serve each lane.", serving)
    yield _gauge("mainspring_worker_slots", "What all live workers can run at once.", capacity)
    yield _gauge("mainspring_worker_slots_used", "How much of that is in use.", executing)


def store_up(up: bool) -> Family:
    """Whether the store answered."""
    return _gauge("mainspring_store_up", "1 while the store answers this process.", int(up))


def due_runs(count: int) -> Family:
    """How long the queue is: what another worker could begin with at once."""
    return _gauge("mainspring_due_runs", "Executions that could start now and haven't.", count)


def waiting_suspects(count: int) -> Family:
    """What waits for a worker to be emptied."""
    text = "Executions that must run alone, because workers died while they ran, and wait for that."
    return _gauge("mainspring_suspects", text, count)


def oldest_snapshot(age: timedelta) -> Family:
    """Only of stores in which an old snapshot does harm."""
    samples = [Sample({}, age.total_seconds())]
    return _gauge(
        "mainspring_store_oldest_snapshot_seconds", "For how long dead rows couldn't be cleared away.", samples
    )


def _typed(by_type: Mapping[Origin, Sequence[Tally]], what: str) -> Sequence[Sample]:
    return [Sample({"job_type": origin.name.lower()}, totals(tallies)[what]) for origin, tallies in by_type.items()]


def _waits(tallies: Sequence[Tally]) -> Family:
    counts = [sum(tally.waits[index] for tally in tallies if tally.waits) for index in range(len(_BOUNDS) + 1)]
    waited = sum(tally.waited.total_seconds() for tally in tallies)
    samples = list(histogram_samples(_BOUNDS, counts, waited))
    return Family("job_queue_wait_seconds", Kind.HISTOGRAM, "From when an execution could start until it did.", samples)


def _counter(name: str, text: str, samples: Sequence[Sample] | int) -> Family:
    return Family(name, Kind.COUNTER, text, _several(samples))


def _gauge(name: str, text: str, samples: Sequence[Sample] | int) -> Family:
    return Family(name, Kind.GAUGE, text, _several(samples))


def _several(samples: Sequence[Sample] | int) -> Sequence[Sample]:
    return [Sample({}, samples)] if isinstance(samples, int) else samples
