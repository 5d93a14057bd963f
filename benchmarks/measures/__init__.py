"""One measure per module: `measure(stage)` returns figures named after the module."""

from collections.abc import Callable

from benchmarks.figures import Figure
from benchmarks.measures import backlog, bulk_add, idle, idle_start, kill, single_add, throughput, timer_lag
from benchmarks.stage import Stage

MEASURES: dict[str, Callable[[Stage], list[Figure]]] = {
    "throughput": throughput.measure,
    "bulk_add": bulk_add.measure,
    "single_add": single_add.measure,
    "idle_start": idle_start.measure,
    "timer_lag": timer_lag.measure,
    "idle": idle.measure,
    "kill": kill.measure,
    "backlog": backlog.measure,
}

# These repeat within themselves, and take minutes: once per run, whatever the number of rounds.
ONCE = frozenset({"kill", "backlog"})
