from collections.abc import AsyncIterator

import pytest

from mainspring.adapters.postgres.store import PostgresStore
from mainspring.adapters.system.chance import SystemRandom
from mainspring.testing.clock import RealTime, Time
from mainspring.testing.contracts import ChangesContract, Store, ViewsContract, WorkContract


class OnPostgres:
    @pytest.fixture
    def time(self) -> Time:
        return RealTime()

    @pytest.fixture
    async def store(self, emptied_postgres_url: str) -> AsyncIterator[Store]:
        store = await PostgresStore.open(emptied_postgres_url, random=SystemRandom())
        yield store
        await store.close()

    @pytest.fixture
    async def second_store(self, emptied_postgres_url: str, store: Store) -> AsyncIterator[Store]:
        assert store is not None
        second = await PostgresStore.open(emptied_postgres_url, random=SystemRandom())
        yield second
        await second.close()


class TestChanges(OnPostgres, ChangesContract):
    pass


class TestViews(OnPostgres, ViewsContract):
    pass


class TestWork(OnPostgres, WorkContract):
    pass
