"""Measured values, their records in JSON lines, and their summary over rounds."""

import json
import math
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median

DASH = "\N{EN DASH}"
TIMES = "\N{MULTIPLICATION SIGN}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    name: str
    value: float
    unit: str
    note: str = ""
    """What sets it apart from the same figure of others, such as a smaller size."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Surroundings:
    """How quiet the machine was just before a measure: what others used of its cores, and what a sync cost."""

    busy_percent: float
    sync_milliseconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    round: int
    contender: str
    figure: Figure
    surroundings: Surroundings


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary:
    """The median of a figure over its rounds, with the extremes."""

    unit: str
    median: float
    lowest: float
    highest: float
    note: str = ""

    def __str__(self) -> str:
        extremes = "" if self.lowest == self.highest else f" [{number(self.lowest)}{DASH}{number(self.highest)}]"
        note = f" ({self.note})" if self.note else ""
        return f"{number(self.median)}{extremes}{note}"


Results = dict[tuple[str, str], Summary]


def latencies(name: str, milliseconds: Sequence[float]) -> list[Figure]:
    """Where most of them lie, where nearly all do, and how many there were."""
    return [
        Figure(name=f"{name}.p50", value=percentile(milliseconds, 50), unit="ms"),
        Figure(name=f"{name}.p99", value=percentile(milliseconds, 99), unit="ms"),
        Figure(name=f"{name}.executed", value=len(milliseconds), unit="jobs"),
    ]


def number(value: float) -> str:
    if value == int(value) or abs(value) >= 100:
        return f"{value:,.0f}"
    return f"{value:.2f}" if abs(value) >= 0.1 else f"{value:.3f}"


def percentile(values: Sequence[float], percent: float) -> float:
    """The smallest value that at least *percent* of all values don't exceed."""
    ordered = sorted(values)
    return ordered[max(0, math.ceil(len(ordered) * percent / 100) - 1)]


def summarise(records: Iterable[Record]) -> Results:
    """Summaries by (figure name, contender), in the order in which the figures were first measured."""
    values: dict[tuple[str, str], list[Figure]] = {}
    for record in records:
        values.setdefault((record.figure.name, record.contender), []).append(record.figure)
    return {key: _summary(figures) for key, figures in values.items()}


def _summary(figures: Sequence[Figure]) -> Summary:
    values = [figure.value for figure in figures]
    return Summary(
        unit=figures[0].unit,
        median=median(values),
        lowest=min(values),
        highest=max(values),
        note=figures[0].note,
    )


def quietness(records: Sequence[Record]) -> str:
    """A sentence on the surroundings of all *records*, so that a disturbed run is recognised."""
    busy = [record.surroundings.busy_percent for record in records]
    sync = [record.surroundings.sync_milliseconds for record in records]
    return (
        f"Just before the measures, other processes kept the cores {median(busy):.0f} % busy "
        f"(at most {max(busy):.0f} %), and fdatasync of 4 KiB took {median(sync):.2f} ms (at most {max(sync):.2f} ms)."
    )


def append(path: Path, record: Record) -> None:
    with path.open("a", encoding="utf-8") as file:
        file.write(json.dumps(asdict(record)) + "\n")


def load(path: Path) -> list[Record]:
    """The records of *path*; lines of other kinds (the machine) are passed over."""
    lines = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    return [
        Record(
            round=line["round"],
            contender=line["contender"],
            figure=Figure(**line["figure"]),
            surroundings=Surroundings(**line["surroundings"]),
        )
        for line in lines
        if "figure" in line
    ]
