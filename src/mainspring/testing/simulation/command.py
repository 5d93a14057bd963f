"""`mainspring simulate`: any number of schedules on all cores, one in detail, or the search for every ablation."""

import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TypeVar

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from mainspring.errors import ConfigurationError
from mainspring.testing.simulation.ablations import BY_NAME, EVERY
from mainspring.testing.simulation.finding import Found, Outcome, find_by_name, outcomes, pool
from mainspring.testing.simulation.history import line
from mainspring.testing.simulation.judging.properties import PROPERTIES
from mainspring.testing.simulation.judging.verdict import Violation
from mainspring.testing.simulation.schedule import Report, run
from mainspring.testing.simulation.storage import Store
from mainspring.testing.simulation.table import page

LAST_EVENTS = 40
"""How much of a trace is shown around a violation."""

T = TypeVar("T")


def simulate(seeds: str, *, cores: int, store: Store, ablation: str | None, show: bool = True) -> bool:
    """Live through a range of seeds; print every failure with the way to repeat it. Whether all held."""
    console = Console()
    store = _checked(store, ablation)
    failed: list[Outcome] = []
    steps = runs = 0
    chosen = parse_seeds(seeds)
    each = outcomes(chosen, cores=cores, store=store, ablation=ablation)
    for outcome in _with_bar(console, each, len(chosen), show=show):
        steps, runs = steps + outcome.steps, runs + outcome.runs
        if outcome.violations:
            failed.append(outcome)
            console.print(f"seed {outcome.seed}: {outcome.violations[0]}", markup=False, highlight=False)
    console.print(f"{len(chosen)} schedules, {runs:,} runs, {steps:,} steps: {len(failed)} failed", highlight=False)
    if failed:
        first = min(failed, key=lambda outcome: outcome.seed)
        _explain(console, first, store, ablation)
    return not failed


def trace(seed: int, *, store: Store, ablation: str | None) -> bool:
    """Print the whole history of one seed, then what was violated. Whether all held."""
    report = _report(seed, _checked(store, ablation), ablation)
    for text in report.history.lines():
        print(text)  # noqa: T201 - a trace is long: nothing should wrap or colour it
    print(f"trace {report.digest}")  # noqa: T201
    for violation in report.violations:
        print(violation)  # noqa: T201
    return not report.violations


def ablations(*, cores: int, write: Path | None, show: bool = True) -> bool:
    """Look for every ablation and print the table, or write its page. Whether all were seen."""
    console = Console()
    names = [ablation.name for ablation in EVERY]
    with pool(cores) as processes:
        found: list[Found | None] = [None] * len(names)
        answers = processes.imap_unordered(_numbered, list(enumerate(names)))
        for position, seeds, violation in _with_bar(console, answers, len(names), show=show):
            found[position] = Found(BY_NAME[names[position]], seeds, violation)
    complete = [each for each in found if each is not None]
    text = page(complete)
    if write is None:
        console.print(text, markup=False, highlight=False)
    else:
        write.write_text(text, "utf-8")
    return all(each.violation is not None for each in complete)


def parse_seeds(text: str) -> Sequence[int]:
    """`7`, or `1-500` with both ends."""
    match = re.fullmatch(r"(\d+)(?:-(\d+))?", text)
    if match is None or int(match[2] or match[1]) < int(match[1]):
        raise ConfigurationError(f"{text!r} isn't a range of seeds; write one like 1-500")
    return range(int(match[1]), int(match[2] or match[1]) + 1)


def _numbered(work: tuple[int, str]) -> tuple[int, int, Violation | None]:
    position, name = work
    found = find_by_name(name)
    return position, found.seeds, found.violation


def _checked(store: Store, ablation: str | None) -> Store:
    """The store to simulate: an ablation brings its own."""
    if ablation is None:
        return store
    if ablation not in BY_NAME:
        raise ConfigurationError(f"there is no ablation {ablation!r}; there are: {', '.join(BY_NAME)}")
    return BY_NAME[ablation].store


def _report(seed: int, store: Store, ablation: str | None) -> Report:
    if ablation is None:
        return run(seed, store)
    with BY_NAME[ablation].patch():
        return run(seed, store)


def _explain(console: Console, outcome: Outcome, store: Store, ablation: str | None) -> None:
    """The first failure in detail: the properties, the events before it, and how to see it again."""
    for violation in outcome.violations:
        text = f"{violation.prop}, {PROPERTIES[violation.prop]}: {violation}"
        console.print(text, markup=False, highlight=False)
    at = outcome.violations[0].at
    events = _report(outcome.seed, store, ablation).history.events
    before = [event for event in events if at < 0 or event.at <= at]
    for event in before[-LAST_EVENTS:]:
        console.print(line(event), markup=False, highlight=False, soft_wrap=True)
    also = f" --ablation {ablation}" if ablation is not None else "" if store is Store.SQLITE else f" --store {store}"
    console.print(f"\nthe same again, whole: mainspring simulate --trace {outcome.seed}{also}", soft_wrap=True)


def _with_bar(console: Console, items: Iterable[T], total: int, *, show: bool) -> Iterable[T]:
    columns = (BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(), TextColumn("left"), TimeRemainingColumn())
    with Progress(*columns, console=console, disable=not show, transient=True) as progress:
        yield from progress.track(items, total=total)
