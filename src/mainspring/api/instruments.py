"""Counters and histograms of one process, and the families of samples that a scrape reads from them."""

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import accumulate

LATENCIES = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
DURATIONS = (0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 300.0, 1800.0)


class Kind(StrEnum):
    """What a collector may do with a family's samples."""

    COUNTER = "counter"
    GAUGE = "gauge"
    HISTOGRAM = "histogram"


@dataclass(frozen=True, slots=True)
class Exemplar:
    """One of the events that were counted: its trace, and what was measured."""

    trace_id: str
    value: float


@dataclass(frozen=True, slots=True)
class Sample:
    """One line of an exposition; *suffix* is what the line's name has beyond its family's."""

    labels: Mapping[str, str]
    value: float
    suffix: str = ""
    exemplar: Exemplar | None = None


@dataclass(frozen=True, slots=True)
class Family:
    """All samples of one name."""

    name: str
    kind: Kind
    help: str
    samples: Sequence[Sample]


class Counts:
    """A counter with labels. Series in *known* are shown from the start, so that the first event is an increase."""

    def __init__(self, name: str, text: str, labels: Sequence[str], known: Iterable[tuple[str, ...]] = ()) -> None:
        self._name = name
        self._text = text
        self._labels = tuple(labels)
        self._counts: Counter[tuple[str, ...]] = Counter(dict.fromkeys(known, 0))

    def add(self, *values: str, by: int = 1) -> None:
        """Count one event, or several alike; a value for each label."""
        self._counts[values] += by

    def family(self) -> Family:
        """What was counted so far."""
        counted = sorted(self._counts.items())
        samples = [Sample(dict(zip(self._labels, values, strict=True)), count) for values, count in counted]
        return Family(self._name, Kind.COUNTER, self._text, samples)


class Histogram:
    """Seconds, by how many they were; each bucket remembers the last event whose trace is known."""

    def __init__(
        self,
        name: str,
        text: str,
        bounds: Sequence[float] = LATENCIES,
        labels: Sequence[str] = (),
        known: Iterable[tuple[str, ...]] = (),
    ) -> None:
        self._name = name
        self._text = text
        self._bounds = tuple(bounds)
        self._labels = tuple(labels)
        self._cells = {values: _Cells(len(bounds) + 1) for values in (known if labels else [()])}

    def observe(self, seconds: float, *values: str, trace_id: str | None = None) -> None:
        """Count one event; a value for each label."""
        cells = self._cells.get(values)
        if cells is None:
            cells = self._cells[values] = _Cells(len(self._bounds) + 1)
        place = bisect_left(self._bounds, seconds)
        cells.counts[place] += 1
        cells.sum += seconds
        if trace_id is not None:
            cells.exemplars[place] = Exemplar(trace_id, seconds)

    def family(self) -> Family:
        """What was observed so far."""
        samples: list[Sample] = []
        for values, cells in sorted(self._cells.items()):
            labels = dict(zip(self._labels, values, strict=True))
            samples += histogram_samples(self._bounds, cells.counts, cells.sum, labels, cells.exemplars)
        return Family(self._name, Kind.HISTOGRAM, self._text, samples)


class _Cells:
    __slots__ = ("counts", "exemplars", "sum")

    def __init__(self, size: int) -> None:
        self.counts = [0] * size
        self.sum = 0.0
        self.exemplars: dict[int, Exemplar] = {}


_NO_LABELS: Mapping[str, str] = {}
_NO_EXEMPLARS: Mapping[int, Exemplar] = {}


def histogram_samples(
    bounds: Sequence[float],
    counts: Sequence[int],
    total: float,
    labels: Mapping[str, str] = _NO_LABELS,
    exemplars: Mapping[int, Exemplar] = _NO_EXEMPLARS,
) -> Iterator[Sample]:
    """The lines of one series: *counts* has one number per bound and one beyond, none of which includes another."""
    limits = [*(repr(float(bound)) for bound in bounds), "+Inf"]
    for place, (limit, count) in enumerate(zip(limits, accumulate(counts), strict=True)):
        yield Sample({**labels, "le": limit}, count, "_bucket", exemplars.get(place))
    yield Sample(labels, total, "_sum")
    yield Sample(labels, sum(counts), "_count")
