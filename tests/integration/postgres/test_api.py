"""What the API is asked on PostgreSQL, which can neither store nor compare all that SQLite can."""

from collections.abc import AsyncIterator

import pytest

from mainspring.adapters.postgres.store import PostgresStore
from mainspring.adapters.system.chance import SystemRandom
from mainspring.adapters.system.clock import SystemClock
from mainspring.api.ports import ApiPorts
from tests.api.conftest import ports_over
from tests.api.test_hostile import port, test_nothing_breaks_and_nothing_hangs

__all__ = ["port", "test_nothing_breaks_and_nothing_hangs"]


@pytest.fixture
async def store(postgres_url: str) -> AsyncIterator[PostgresStore]:
    store = await PostgresStore.open(postgres_url, clock=SystemClock(), random=SystemRandom())
    yield store
    await store.close()


@pytest.fixture
def ports(store: PostgresStore) -> ApiPorts:
    return ports_over(store)
