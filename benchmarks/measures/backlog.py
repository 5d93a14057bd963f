"""The other measures again, beside a store in which a million jobs wait for next month, and one remembers ten million.

Each is taken in pairs, empty and full store in turn, so that the machine's drift touches both alike.
"""

import time
from collections.abc import Callable
from statistics import median

from benchmarks.contender import KeepsHistory
from benchmarks.figures import Figure
from benchmarks.measures import idle, idle_start, throughput, timer_lag
from benchmarks.stage import Stage

Take = Callable[[Stage], list[Figure]]

MONTH_NS = 30 * 24 * 3600 * 1_000_000_000
PRIORITIES = 10
CHUNK = 10_000
HISTORY_CHUNK = 500_000
FIRST_JOBS = 100
PATIENCE_SECONDS = 30.0
LOOK_SECONDS = 0.1
COMPARED = {
    "throughput": "jobs/s",
    "throughput2": "jobs/s",
    "idle_start.p50": "ms",
    "idle_start.p99": "ms",
    "idle_start.one_process.p50": "ms",
    "idle_start.one_process.p99": "ms",
    "timer_lag.p50": "ms",
    "timer_lag.p99": "ms",
    "idle.cpu": "%",
    "idle.memory": "MiB",
    "idle.server_cpu": "%",
}


def measure(stage: Stage) -> list[Figure]:
    full, empty = stage.within("full"), stage.within("empty")
    history = remember(full)
    waiting, seconds = _load(full)
    full.settle()
    note = "" if waiting == stage.sizes.backlog else f"{waiting:,} waiting"
    values: dict[str, list[tuple[float, float]]] = {}
    for take, times in _takes(stage.sizes.backlog_pairs):
        for index in range(times):
            log = f"hits-{take.__module__}-{take.__name__}-{index}"
            for name, pair in _pair(take, empty, full, log, full_first=index % 2 == 1).items():
                values.setdefault(name, []).append(pair)
    return [
        Figure(name="backlog.waiting", value=waiting, unit="jobs"),
        Figure(name="backlog.history", value=history, unit="jobs"),
        Figure(name="backlog.load", value=waiting / seconds, unit="jobs/s"),
        *(figure for name in COMPARED if name in values for figure in _compare(name, values[name], note)),
    ]


def _takes(pairs: int) -> list[tuple[Take, int]]:
    measures = [
        throughput.measure,
        throughput.measure_two,
        idle_start.measure,
        idle_start.measure_one_process,
        timer_lag.measure,
    ]
    return [*((take, pairs) for take in measures), (idle.measure, 1)]


def remember(stage: Stage) -> int:
    """Fill the history, where there is one, for as long as the limit allows; how many jobs it has then."""
    contender = stage.contender
    if not isinstance(contender, KeepsHistory):
        return 0
    _execute_some(stage.logging_to("hits-first"))
    deadline = time.monotonic() + stage.sizes.history_limit.total_seconds()
    count = 0
    while count < stage.sizes.history and time.monotonic() < deadline:
        chunk = min(HISTORY_CHUNK, stage.sizes.history - count)
        contender.fill_history(stage.place(), chunk)
        count += chunk
    return count


def _execute_some(stage: Stage) -> None:
    stage.preload(FIRST_JOBS)
    with stage.worker():
        stage.hits.wait_for(FIRST_JOBS, patience_seconds=PATIENCE_SECONDS)
        deadline = time.monotonic() + PATIENCE_SECONDS
        while stage.waiting() and time.monotonic() < deadline:
            time.sleep(LOOK_SECONDS)


def _load(stage: Stage) -> tuple[int, float]:
    """Store jobs for next month, as many as the sizes say unless that takes too long; how many, and the seconds."""
    wanted = min(stage.sizes.backlog, stage.contender.traits.most_backlog or stage.sizes.backlog)
    limit = stage.sizes.backlog_limit.total_seconds()
    due_ns = (time.time_ns() + MONTH_NS) // 1_000_000 * 1_000_000
    count, seconds = 0, 0.0
    with stage.client() as client:
        while count < wanted and seconds < limit:
            chunk = min(CHUNK, wanted - count)
            answer = client.ask("add_all", first=count, count=chunk, due_ns=due_ns, priorities=PRIORITIES)
            count += chunk
            seconds += answer.seconds
    return count, seconds


def _pair(take: Take, empty: Stage, full: Stage, log: str, *, full_first: bool) -> dict[str, tuple[float, float]]:
    first, second = (full, empty) if full_first else (empty, full)
    one = {figure.name: figure.value for figure in take(first.logging_to(log))}
    two = {figure.name: figure.value for figure in take(second.logging_to(log))}
    without, beside = (two, one) if full_first else (one, two)
    return {name: (without[name], beside[name]) for name in without}


def _compare(name: str, pairs: list[tuple[float, float]], note: str) -> list[Figure]:
    beside = median(beside for _, beside in pairs)
    figures = [Figure(name=f"backlog.{name}", value=beside, unit=COMPARED[name], note=note)]
    if all(without > 0 for without, _ in pairs):
        ratio = median(beside / without for without, beside in pairs)
        figures.append(Figure(name=f"backlog.{name}.ratio", value=ratio, unit="x", note=note))
    return figures
