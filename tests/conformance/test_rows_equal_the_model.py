"""The Cassandra adapter answers like the model, but for what it is known to do otherwise.

A batch isn't stored together, pruning goes by whole minutes, a lock that has run out is left alone for a while; and
with several workers, each begins with its own shards (here each looks at all of them every time).
"""

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import precondition, rule

from mainspring.adapters.cassandra import claim
from mainspring.adapters.cassandra.store import CassandraStore
from mainspring.testing.clock import ManualClock
from mainspring.testing.contracts.equality import EqualsTheModelWithTickets, OpenStore, indexes
from mainspring.testing.rows.dictionary import Dictionary, DictionaryRows
from mainspring.testing.virtual_time import SeededRandom

# It passes in seconds, but making a failure short enough to read may take minutes.
pytestmark = pytest.mark.timeout(600)


class RowsEqualTheModel(EqualsTheModelWithTickets):
    keeps_wake_times = True

    async def open_store(self, clock: ManualClock) -> OpenStore:
        return CassandraStore.over(DictionaryRows(Dictionary(), clock), clock=clock, random=SeededRandom())

    @precondition(lambda self: self.runs)
    @rule(index=indexes, together=st.just(False))
    def add_again(self, index: int, together: bool) -> None:
        super().add_again(index, together)

    def prune(self) -> None:
        """Left out."""

    def lock(self, holder: str, releases: bool) -> None:
        """Left out."""


TestRowsEqualTheModel = RowsEqualTheModel.TestCase
TestRowsEqualTheModel.settings = settings(max_examples=15, stateful_step_count=30)


@pytest.fixture(autouse=True)
def _every_shard_is_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(claim, "_LOOK_AROUND", 0.0)
