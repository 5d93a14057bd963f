"""The other measures again, beside a store in which a million jobs wait for next month.

Each is taken in pairs, empty and full store in turn, so that the machine's drift touches both alike.
"""

import time
from collections.abc import Callable
from statistics import median

from benchmarks.figures import Figure
from benchmarks.measures import idle, idle_start, throughput, timer_lag
from benchmarks.stage import Stage

Take = Callable[[Stage], list[Figure]]

MONTH_NS = 30 * 24 * 3600 * 1_000_000_000
CHUNK = 50_000
PROBE = 1_000
COMPARED = {
    "throughput": "jobs/s",
    "idle_start.p50": "ms",
    "idle_start.p99": "ms",
    "timer_lag.p50": "ms",
    "timer_lag.p99": "ms",
    "idle.cpu": "%",
    "idle.memory": "MiB",
}


def measure(stage: Stage) -> list[Figure]:
    full, empty = stage.within("full"), stage.within("empty")
    probe = _load(stage.within("probe"), min(PROBE, stage.sizes.backlog))
    estimate = probe * stage.sizes.backlog / min(PROBE, stage.sizes.backlog)
    if estimate > stage.sizes.backlog_limit.total_seconds():
        return [Figure(name="backlog.load_estimate", value=estimate, unit="s")]
    load = Figure(name="backlog.load", value=_load(full, stage.sizes.backlog), unit="s")
    values: dict[str, list[tuple[float, float]]] = {}
    for take, times in _takes(stage.sizes.backlog_pairs):
        for index in range(times):
            log = f"hits-{take.__module__}-{index}"
            for name, pair in _pair(take, empty, full, log, full_first=index % 2 == 1).items():
                values.setdefault(name, []).append(pair)
    return [load, *(figure for name in COMPARED for figure in _compare(name, values[name]))]


def _takes(pairs: int) -> list[tuple[Take, int]]:
    return [(throughput.measure, pairs), (idle_start.measure, pairs), (timer_lag.measure, pairs), (idle.measure, 1)]


def _load(stage: Stage, count: int) -> float:
    """Store *count* jobs for next month; the seconds that the calls took."""
    due_ns = (time.time_ns() + MONTH_NS) // 1_000_000 * 1_000_000
    seconds = 0.0
    with stage.client() as client:
        for first in range(0, count, CHUNK):
            answer = client.ask("add_all", first=first, count=min(CHUNK, count - first), due_ns=due_ns)
            seconds += answer.seconds
    return seconds


def _pair(take: Take, empty: Stage, full: Stage, log: str, *, full_first: bool) -> dict[str, tuple[float, float]]:
    first, second = (full, empty) if full_first else (empty, full)
    one = {figure.name: figure.value for figure in take(first.logging_to(log))}
    two = {figure.name: figure.value for figure in take(second.logging_to(log))}
    without, beside = (two, one) if full_first else (one, two)
    return {name: (without[name], beside[name]) for name in without}


def _compare(name: str, pairs: list[tuple[float, float]]) -> list[Figure]:
    figures = [Figure(name=f"backlog.{name}", value=median(beside for _, beside in pairs), unit=COMPARED[name])]
    if all(without > 0 for without, _ in pairs):
        ratio = median(beside / without for without, beside in pairs)
        figures.append(Figure(name=f"backlog.{name}.ratio", value=ratio, unit="x"))
    return figures
