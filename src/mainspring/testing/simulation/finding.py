"""Schedules by the hundred, on all cores, and the search for the first that sees a defect."""

import multiprocessing
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from multiprocessing.pool import Pool
from typing import Any

from mainspring.testing.simulation.ablation import Ablation
from mainspring.testing.simulation.ablations import BY_NAME
from mainspring.testing.simulation.judging.verdict import Violation
from mainspring.testing.simulation.schedule import run
from mainspring.testing.simulation.storage import Store
from mainspring.wiring.garbage import collect_seldom

MOST_SEEDS = 200
"""An ablation that this many schedules don't find counts as unseen."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What is known of a schedule once its world is gone."""

    seed: int
    steps: int
    runs: int
    violations: tuple[Violation, ...]


@dataclass(frozen=True, slots=True)
class Found:
    """How an ablation was seen: after so many schedules, by this property; never if there is none."""

    ablation: Ablation
    seeds: int
    violation: Violation | None


def outcomes(
    seeds: Sequence[int], *, cores: int, store: Store = Store.SQLITE, ablation: str | None = None
) -> Iterator[Outcome]:
    """Live through all of *seeds*, in no particular order if there are several cores."""
    work = [(seed, store, ablation) for seed in seeds]
    if cores == 1:
        yield from map(_outcome, work)
        return
    with pool(cores) as processes:
        yield from processes.imap_unordered(_outcome, work, chunksize=2)


def pool(cores: int) -> Pool:
    """Processes that live through schedules; what they need is loaded once, before they are forked."""
    forking = multiprocessing.get_context("forkserver")
    forking.set_forkserver_preload([__name__])
    return forking.Pool(cores, initializer=collect_seldom)


def find(ablation: Ablation, most: int = MOST_SEEDS, *, first: int = 1) -> Found:
    """Try seed after seed until one sees the defect: from *first* on, then those before it."""
    with ablation.patch():
        for seed in (*range(first, most + 1), *range(1, first)):
            violations = run(seed, ablation.store).violations
            if violations:
                return Found(ablation, seed, violations[0])
    return Found(ablation, most, None)


def find_by_name(name: str) -> Found:
    """The same for another process, which knows the ablation by its name only."""
    return find(BY_NAME[name])


def _outcome(work: tuple[int, Store, str | None]) -> Outcome:
    seed, store, ablation = work
    patch: AbstractContextManager[Any] = nullcontext() if ablation is None else BY_NAME[ablation].patch()
    with patch:
        report = run(seed, store)
    return Outcome(seed, report.steps, report.runs, report.violations)
