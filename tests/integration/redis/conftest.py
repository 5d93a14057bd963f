from collections.abc import AsyncIterator

import pytest
from redis.asyncio import Redis


@pytest.fixture
async def redis(redis_url: str) -> AsyncIterator[Redis]:
    """A look at what the server holds."""
    async with Redis.from_url(redis_url, decode_responses=True) as client:
        yield client
