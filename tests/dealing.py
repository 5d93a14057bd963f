"""Who runs which test, and when: all workers begin with what takes long, and end with what takes no time."""

from collections.abc import Iterator, Sequence
from itertools import groupby
from pathlib import Path

import pytest

_STARTING_PROGRAMS = frozenset(
    {"attack", "benchmarks", "browser", "deploy", "docs", "documents", "scenarios", "simulation"}
)
"""Folders whose tests take seconds, because they start programs or live through many histories."""
_HERE = Path(__file__).parent


def dealt(items: Sequence[pytest.Item], workers: int) -> list[pytest.Item]:
    """The tests as one hand after the other: xdist gives each worker as many as the others, in this order.

    Whoever has finished its hand takes from the end of another, where only quick tests are left.
    """
    hands: list[list[pytest.Item]] = [[] for _ in range(workers)]
    for block in _slow_blocks(items):
        min(hands, key=len).extend(block)
    quick = [item for item in items if not _slow(item)]
    dealt: list[pytest.Item] = []
    for number, hand in enumerate(hands):
        share = (len(items) - len(dealt)) // (workers - number)
        room = max(share - len(hand), 0)
        dealt += hand + quick[:room]
        del quick[:room]
    return dealt


def _slow_blocks(items: Sequence[pytest.Item]) -> Iterator[list[pytest.Item]]:
    """Tests that stay together: the longest one by one, then whole modules, since these share what they start."""
    slow = [item for item in items if _slow(item)]
    yield from ([item] for item in slow if _long(item))
    for _, block in groupby((item for item in slow if not _long(item)), key=lambda item: item.path):
        yield list(block)


def _slow(item: pytest.Item) -> bool:
    marked = _long(item) or item.get_closest_marker("slow") is not None
    return marked or item.path.relative_to(_HERE).parts[0] in _STARTING_PROGRAMS


def _long(item: pytest.Item) -> bool:
    return item.get_closest_marker("long") is not None
