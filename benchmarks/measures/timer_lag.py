"""How long after its due moment a scheduled job starts; before it is an error."""

import time

from benchmarks.figures import Figure, latencies
from benchmarks.stage import Stage

PATIENCE_SECONDS = 15.0
LEAD_NS = 2_000_000_000
# Added to the spacing, so that due moments drift across the grid of a contender's polling.
DRIFT_NS = 17_000


def measure(stage: Stage) -> list[Figure]:
    late = lags(stage)
    early = Figure(name="timer_lag.early", value=sum(lag < 0 for lag in late), unit="jobs")
    return [*latencies("timer_lag", late), early]


def lags(stage: Stage) -> list[float]:
    """Milliseconds from due moment to start."""
    count = stage.sizes.timers
    spacing_ns = round(stage.sizes.timer_span.total_seconds() * 1000 / count) * 1_000_000 + DRIFT_NS
    with stage.worker() as worker, stage.submitter(worker) as submitter:
        # Whole microseconds: what datetimes can carry, so that none counts as early by rounding.
        first_ns = (time.time_ns() + LEAD_NS) // 1_000_000 * 1_000_000
        submitter.ask("add_all", first=0, count=count, due_ns=first_ns, spacing_ns=spacing_ns)
        stage.hits.wait_for(count, patience_seconds=PATIENCE_SECONDS)
    return [(hit.moment_ns - first_ns - hit.number * spacing_ns) / 1e6 for hit in stage.executed()]
