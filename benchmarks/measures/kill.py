"""kill -9 of the worker under full load, again and again; a hit is the effect of a run."""

import time
from bisect import bisect_right
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from benchmarks.figures import Figure
from benchmarks.hits import Hit
from benchmarks.stage import Stage

PATIENCE_SECONDS = 20.0
QUIET_SECONDS = 1.0
DRAIN_SECONDS = 120.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Death:
    """How many hits had been logged when the worker was gone, and what its journal said then."""

    hits: int
    recorded: frozenset[int] | None


def measure(stage: Stage) -> list[Figure]:
    jobs, kills = stage.jobs, stage.sizes.kills
    stage.preload(jobs)
    deaths: list[Death] = []
    starts: list[int] = []
    for index in range(kills):
        starts.append(time.time_ns())
        death = _kill(stage, at_hits=jobs * (index + 1) // (kills + 1))
        if death is None:
            break
        deaths.append(death)
    started = time.monotonic()
    starts.append(time.time_ns())
    _drain(stage)
    hits = stage.hits.read()
    return [
        *judge(hits, deaths, jobs=jobs, left=stage.waiting()),
        *back(hits, deaths, starts[1:]),
        Figure(name="kill.drain", value=time.monotonic() - started, unit="s"),
    ]


def judge(hits: Sequence[Hit], deaths: Sequence[Death], *, jobs: int, left: int = 0) -> list[Figure]:
    """Lost, stranded and repeated jobs; a repeat is charged to the death that ended the life of the hit before.

    What a death has interrupted goes to the end of the line: several more workers may die until it is repeated.
    """
    numbers = [hit.number for hit in hits]
    bounds = [death.hits for death in deaths]
    seen: dict[int, int] = {}
    repeats: Counter[int] = Counter()
    for place, number in enumerate(numbers):
        if number in seen:
            repeats[bisect_right(bounds, seen[number])] += 1
        seen[number] = place
    unseen = jobs - len(seen)
    figures = [
        Figure(name="kill.kills", value=len(deaths), unit="kills"),
        Figure(name="kill.lost", value=max(0, unseen - left), unit="jobs"),
        Figure(name="kill.stranded", value=min(unseen, left), unit="jobs"),
        Figure(name="kill.left", value=left, unit="jobs"),
        Figure(name="kill.repeated", value=len(numbers) - len(seen), unit="runs"),
        Figure(name="kill.repeated_most", value=max(repeats.values(), default=0), unit="runs/kill"),
    ]
    if deaths and deaths[0].recorded is not None:
        again = sum(len((death.recorded or frozenset()) & set(numbers[death.hits :])) for death in deaths)
        figures.append(Figure(name="kill.journalled_repeated", value=again, unit="runs"))
    return figures


def back(hits: Sequence[Hit], deaths: Sequence[Death], starts: Sequence[int]) -> list[Figure]:
    """The longest time from the start of a worker in a dead one's place to its first hit."""
    waits = [
        (hits[death.hits].moment_ns - started) / 1e9
        for death, started in zip(deaths, starts, strict=False)
        if death.hits < len(hits)
    ]
    return [Figure(name="kill.back", value=max(waits), unit="s")] if waits else []


def _kill(stage: Stage, *, at_hits: int) -> Death | None:
    """Let a worker run up to *at_hits* and kill it; None if it didn't get there."""
    with stage.worker() as worker:
        reached = stage.hits.wait_for(at_hits, patience_seconds=PATIENCE_SECONDS)
        worker.kill()
    if not reached:
        return None
    return Death(hits=stage.hits.count(), recorded=stage.contender.recorded(stage.place()))


def _drain(stage: Stage) -> None:
    """Let a last worker finish: the store is empty and no hit arrives for a moment."""
    with stage.worker():
        deadline = time.monotonic() + DRAIN_SECONDS
        while time.monotonic() < deadline:
            count = stage.hits.count()
            time.sleep(QUIET_SECONDS)
            if stage.hits.count() == count and stage.waiting() == 0:
                return
