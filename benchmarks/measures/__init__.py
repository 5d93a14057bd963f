"""One measure per module: `measure(stage)` returns figures named after it, none where it makes no sense."""

from collections.abc import Callable

from benchmarks.figures import Figure
from benchmarks.measures import (
    backlog,
    bulk_add,
    idle,
    idle_start,
    kill,
    sessions,
    single_add,
    takeover,
    throughput,
    timer_lag,
)
from benchmarks.stage import Stage

MEASURES: dict[str, Callable[[Stage], list[Figure]]] = {
    "throughput": throughput.measure,
    "throughput2": throughput.measure_two,
    "bulk_add": bulk_add.measure,
    "single_add": single_add.measure,
    "idle_start": idle_start.measure,
    "timer_lag": timer_lag.measure,
    "idle": idle.measure,
    "sessions": sessions.measure,
    "kill": kill.measure,
    "takeover": takeover.measure,
    "backlog": backlog.measure,
}

# These repeat within themselves, or take minutes: once per run, whatever the number of rounds.
ONCE = frozenset({"sessions", "kill", "takeover", "backlog"})
