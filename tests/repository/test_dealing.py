"""Every test is dealt once, and every worker begins with its share of what takes long."""

from collections import Counter
from pathlib import Path
from typing import Any, cast

import pytest

from tests import dealing


class Item:
    def __init__(self, file: str, mark: str = "") -> None:
        self.path = Path(dealing.__file__).parent / file
        self._mark = mark

    def get_closest_marker(self, name: str) -> Any:
        return name == self._mark or None


QUICK = [Item(f"unit/test_{number % 7}.py") for number in range(50)]
PROGRAMS = [Item("browser/test_a.py") for _ in range(4)] + [Item("docs/test_b.py") for _ in range(3)]
SLOW = [Item("cli/test_c.py", "slow")]
LONG = [Item("simulation/test_d.py", "long") for _ in range(2)]


@pytest.mark.parametrize("workers", [1, 2, 3, 7])
def test_each_hand_begins_with_what_takes_long(workers: int) -> None:
    items = [*QUICK[:20], *PROGRAMS, *QUICK[20:], *SLOW, *LONG]
    dealt = cast("list[Item]", dealing.dealt(cast("list[pytest.Item]", items), workers))
    assert Counter(dealt) == Counter(items)
    hands, start = [], 0
    for number in range(workers):  # as xdist divides them
        end = start + (len(dealt) - start) // (workers - number)
        hands.append([item in QUICK for item in dealt[start:end]])
        start = end
    assert all(hand == sorted(hand) for hand in hands)
    assert sum(not hand[0] for hand in hands) == min(workers, 5)
    assert set(LONG) <= {dealt[index] for index in range(len(dealt)) if index == 0 or dealt[index - 1] in QUICK + LONG}
