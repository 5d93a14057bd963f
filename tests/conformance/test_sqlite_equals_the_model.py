import pytest
from hypothesis import settings

from mainspring.adapters.sqlite.store import SqliteStore
from mainspring.testing.clock import ManualClock
from mainspring.testing.contracts.equality import EqualsTheModelWithTickets, OpenStore

# It passes in seconds, but making a failure short enough to read may take minutes.
pytestmark = pytest.mark.timeout(600)


class SqliteEqualsTheModel(EqualsTheModelWithTickets):
    async def open_store(self, clock: ManualClock) -> OpenStore:
        return await SqliteStore.open(":memory:", clock=clock, inline=True)


TestSqliteEqualsTheModel = SqliteEqualsTheModel.TestCase
TestSqliteEqualsTheModel.settings = settings(max_examples=25, stateful_step_count=30)
