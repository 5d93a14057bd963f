"""Which entries a claim tries first: lanes in turn, within a lane by priority, then by how long each has waited."""

from collections import Counter, deque
from collections.abc import Iterable, Sequence
from datetime import timedelta

from mainspring.adapters.cassandra.due import Entry
from mainspring.adapters.cassandra.layout import span_of
from mainspring.adapters.cassandra.rows import MOST_CHANGES
from mainspring.domain.ids import Lane

_LARGE = 32
_PLENTY = 2
"""A claim, where there is as many times more, is taken from few shards: it costs a batch for each."""
_ALIKE = timedelta(milliseconds=250)
"""For that, a small claim takes runs as equally old that wake in the same quarter of a second; a large one, all."""
_BATCH = MOST_CHANGES
"""Runs of one shard that are taken before the next shard's: a decision costs a node half as much by the hundred."""


class Queues:
    """Candidates, each given once."""

    def __init__(self, entries: Iterable[Entry], lanes: Sequence[Lane], limit: int) -> None:
        by_lane: dict[Lane, list[Entry]] = {lane: [] for lane in lanes}
        for entry in entries:
            by_lane[entry.lane].append(entry)
        self._queues = [deque(_ordered(waiting, limit)) for waiting in by_lane.values()]

    def take(self, most: int) -> Sequence[Entry]:
        """The next best; nothing once all were given."""
        taken: list[Entry] = []
        while len(taken) < most and any(self._queues):
            for queue in self._queues:
                if queue and len(taken) < most:
                    taken.append(queue.popleft())
        return taken


def _ordered(entries: Sequence[Entry], limit: int) -> Sequence[Entry]:
    ranked = sorted(entries, key=lambda entry: entry.rank)
    if limit == 1 or len(entries) < limit * _PLENTY:
        return ranked
    alike = None if limit >= _LARGE else span_of(_ALIKE)
    counts = Counter[tuple[int, int, int]]()
    places: list[tuple[int, int, int, int, Entry]] = []
    order: dict[tuple[int, int, int], int] = {}
    for entry in ranked:
        age = 0 if alike is None else entry.since // alike
        group = entry.priority, age, entry.shard
        places.append((-entry.priority, age, counts[group] // _BATCH, order.setdefault(group, len(order)), entry))
        counts[group] += 1
    return [entry for *_, entry in sorted(places, key=lambda place: place[:4])]
