"""The other measures again, beside a store in which a million jobs wait for next month, and one remembers ten million.

Each is taken in pairs, empty and full store in turn, so that the machine's drift touches both alike. Rates are compared
pair by pair; of latencies, those of all pairs are put together: whether two hundredths are a tenth apart is told by
forty starts beyond them, not by two, and a disk that is slow for seconds must meet both stores.
"""

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import wraps
from statistics import median
from typing import TypeVar

from benchmarks.contender import KeepsHistory
from benchmarks.figures import Figure, latencies
from benchmarks.measures import idle, idle_start, throughput, timer_lag
from benchmarks.stage import Stage

T = TypeVar("T")

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
    "idle.cpu": "%",
    "idle.memory": "MiB",
    "idle.server_cpu": "%",
}
LATENCIES = {
    "idle_start": idle_start.between_processes,
    "idle_start.one_process": idle_start.in_one_process,
    "timer_lag": timer_lag.lags,
}


def measure(stage: Stage) -> list[Figure]:
    stage = replace(stage, sizes=replace(stage.sizes, idle_starts=stage.sizes.latency_starts))
    full, empty = stage.within("full"), stage.within("empty")
    history = remember(full)
    waiting, seconds = _load(full)
    full.settle()
    note = "" if waiting == stage.sizes.backlog else f"{waiting:,} waiting"
    pairs = stage.sizes.backlog_pairs
    return [
        Figure(name="backlog.waiting", value=waiting, unit="jobs"),
        Figure(name="backlog.history", value=history, unit="jobs"),
        Figure(name="backlog.load", value=waiting / seconds, unit="jobs/s"),
        *_rates(list(_pairs(_at_rest(throughput.measure), empty, full, pairs)), note),
        *_rates(list(_pairs(_at_rest(throughput.measure_two), empty, full, pairs)), note),
        *(
            figure
            for name, take in LATENCIES.items()
            for figure in _latencies(name, list(_pairs(take, empty, full, stage.sizes.latency_pairs)), note)
        ),
        *_rates(list(_pairs(idle.measure, empty, full, 1)), note),
    ]


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


def _pairs(take: Callable[[Stage], T], empty: Stage, full: Stage, count: int) -> Iterator[tuple[T, T]]:
    """What is found without a backlog and beside it; which comes first changes from pair to pair."""
    for number in range(count):
        log = f"hits-{take.__module__}-{take.__name__}-{number}"
        if number % 2 == 0:
            without = take(empty.logging_to(log))
            yield without, take(full.logging_to(log))
        else:
            beside = take(full.logging_to(log))
            yield take(empty.logging_to(log)), beside


def _at_rest(take: Callable[[Stage], T]) -> Callable[[Stage], T]:
    """The same from a store as its server leaves it some time after the work is done, every time.

    A plan depends on what the server found when it last counted: were that left to chance, a peer would be ten times as
    fast in one round as in the next.
    """

    @wraps(take)
    def taken(stage: Stage) -> T:
        stage.settle()
        return take(stage)

    return taken


def _rates(pairs: Sequence[tuple[list[Figure], list[Figure]]], note: str) -> list[Figure]:
    found: dict[str, list[tuple[float, float]]] = {}
    for empty, full in pairs:
        for without, beside in zip(empty, full, strict=True):
            found.setdefault(without.name, []).append((without.value, beside.value))
    return [
        figure
        for name, unit in COMPARED.items()
        if name in found
        for figure in _compared(name, unit, *_medians(found[name]), note)
    ]


def _medians(pairs: Sequence[tuple[float, float]]) -> tuple[float, float | None]:
    """The figure beside a backlog, and how many times as large it is as without."""
    beside = median(beside for _, beside in pairs)
    comparable = all(without > 0 for without, _ in pairs)
    return beside, median(beside / without for without, beside in pairs) if comparable else None


def _latencies(name: str, pairs: Sequence[tuple[list[float], list[float]]], note: str) -> list[Figure]:
    if not pairs[0][0]:
        return []
    empty = latencies(name, [wait for without, _ in pairs for wait in without])
    full = latencies(name, [wait for _, beside in pairs for wait in beside])
    return [
        figure
        for without, beside in zip(empty, full, strict=True)
        if beside.unit == "ms"
        for figure in _compared(beside.name, beside.unit, beside.value, beside.value / without.value, note)
    ]


def _compared(name: str, unit: str, beside: float, ratio: float | None, note: str) -> list[Figure]:
    figures = [Figure(name=f"backlog.{name}", value=beside, unit=unit, note=note)]
    if ratio is not None:
        figures.append(Figure(name=f"backlog.{name}.ratio", value=ratio, unit="x", note=note))
    return figures
