"""Which entries a claim tries first: lanes in turn, within a lane by priority, then by how long each has waited."""

from collections import deque
from collections.abc import Iterable, Sequence

from mainspring.adapters.cassandra.due import Entry
from mainspring.domain.ids import Lane

_LARGE = 32
_PLENTY = 2
"""A large claim from a store that has as many times more is taken shard by shard: whole batches cost the least."""


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
    if limit < _LARGE or len(entries) < limit * _PLENTY:
        return sorted(entries, key=lambda entry: entry.rank)
    oldest: dict[tuple[int, int], int] = {}
    for entry in entries:
        group = entry.priority, entry.shard
        oldest[group] = min(entry.since, oldest.get(group, entry.since))
    return sorted(
        entries, key=lambda entry: (-entry.priority, oldest[entry.priority, entry.shard], entry.shard, *entry.rank)
    )
