"""Which entries a claim tries first: lanes in turn, within a lane by priority, then by how long each has waited."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from datetime import timedelta
from itertools import islice
from operator import attrgetter

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
_RANK = attrgetter("rank")


class Queues:
    """Candidates, each given once."""

    def __init__(self, entries: Iterable[Entry], lanes: Sequence[Lane], limit: int) -> None:
        by_lane: dict[Lane, list[Entry]] = {lane: [] for lane in lanes}
        for entry in entries:
            by_lane[entry.lane].append(entry)
        self._queues = [_ordered(waiting, limit) for waiting in by_lane.values()]

    def take(self, most: int) -> Sequence[Entry]:
        """The next best; nothing once all were given."""
        taken: list[Entry] = []
        while self._queues and len(taken) < most:
            if len(self._queues) == 1:
                taken += islice(self._queues[0], most - len(taken))
                break
            for queue in [*self._queues]:
                entry = next(queue, None)
                if entry is None:
                    self._queues.remove(queue)
                else:
                    taken.append(entry)
                if len(taken) == most:
                    break
        return taken


def _ordered(entries: Sequence[Entry], limit: int) -> Iterator[Entry]:
    if limit == 1 or len(entries) < limit * _PLENTY:
        yield from sorted(entries, key=_RANK)
        return
    alike = None if limit >= _LARGE else span_of(_ALIKE)
    equals: defaultdict[tuple[int, int], defaultdict[int, list[Entry]]] = defaultdict(lambda: defaultdict(list))
    for entry in entries:
        equals[-entry.priority, 0 if alike is None else entry.since // alike][entry.shard].append(entry)
    for _, shards in sorted(equals.items()):
        # What comes from one shelf is in order already, or nearly: that is sorted at once.
        queues = sorted((sorted(waiting, key=_RANK) for waiting in shards.values()), key=lambda queue: queue[0].rank)
        for start in range(0, max(map(len, queues)), _BATCH):
            for queue in queues:
                yield from queue[start : start + _BATCH]
