from collections.abc import AsyncIterator

import pytest

from mainspring.adapters.postgres.engine import Engine
from mainspring.adapters.postgres.store import PostgresStore
from mainspring.testing.factories import Factory
from tests.integration.postgres.stores import engines, opened


@pytest.fixture
async def store(postgres_url: str) -> AsyncIterator[PostgresStore]:
    async with opened(postgres_url) as store:
        yield store


@pytest.fixture
async def make(store: PostgresStore) -> Factory:
    """Makes what is stored at *store*, by the server's clock."""
    return Factory(start=await store.views.now())


@pytest.fixture
async def engine(postgres_url: str) -> AsyncIterator[Engine]:
    async with engines(postgres_url, 1) as (engine,):
        yield engine
