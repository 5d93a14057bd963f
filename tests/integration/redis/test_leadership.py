import asyncio
import os
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import timedelta

import pytest
from redis.asyncio import Redis

from mainspring.adapters.pace import Pace
from mainspring.adapters.redis.address import address
from mainspring.adapters.redis.leadership import KEY, RedisLeadership
from mainspring.adapters.system.chance import SystemRandom
from mainspring.errors import ConfigurationError
from servers.ports import free_port
from servers.valkey import ValkeyServer

LONG = timedelta(seconds=30)
BRIEF = timedelta(milliseconds=50)
AT_ONCE = Pace(first_pause=timedelta(milliseconds=1), longest_pause=timedelta(milliseconds=1))


@asynccontextmanager
async def opened(url: str, pace: Pace = AT_ONCE) -> AsyncIterator[RedisLeadership]:
    leadership = RedisLeadership(address(url), random=SystemRandom(), pace=pace)
    try:
        await leadership.open()
        yield leadership
    finally:
        await leadership.close()


@pytest.fixture
async def leadership(redis_url: str) -> AsyncIterator[RedisLeadership]:
    async with opened(redis_url) as leadership:
        yield leadership


async def known(leadership: RedisLeadership, name: str) -> str:
    """Who leads, once the server has said so."""
    async with asyncio.timeout(LONG.total_seconds()):
        while (leader := await leadership.stand(name, LONG)) is None:  # noqa: ASYNC110 - there is no event to wait for
            await asyncio.sleep(0.01)
    return leader


async def test_whoever_stands_first_leads_and_the_key_says_so(leadership: RedisLeadership, redis: Redis) -> None:
    assert await leadership.stand("one", LONG) == "one"
    assert await leadership.stand("two", LONG) == "one"
    assert await redis.get(KEY) == "one"


async def test_only_the_leader_prolongs_the_lead(leadership: RedisLeadership, redis: Redis) -> None:
    await leadership.stand("one", LONG)
    await leadership.stand("two", LONG * 100)
    assert await redis.pttl(KEY) <= LONG / timedelta(milliseconds=1)
    await leadership.stand("one", LONG * 100)
    assert await redis.pttl(KEY) > LONG / timedelta(milliseconds=1)


async def test_a_leader_that_is_silent_is_followed_by_another(leadership: RedisLeadership) -> None:
    await leadership.stand("one", BRIEF)
    async with asyncio.timeout(LONG.total_seconds()):
        while await leadership.stand("two", LONG) != "two":  # noqa: ASYNC110 - only time ends a lead
            await asyncio.sleep(0.01)


async def test_a_leader_that_resigns_is_followed_at_once(leadership: RedisLeadership) -> None:
    await leadership.stand("one", LONG)
    await leadership.resign("one")
    assert await leadership.stand("two", LONG) == "two"


async def test_nobody_resigns_for_another(leadership: RedisLeadership) -> None:
    await leadership.stand("one", LONG)
    await leadership.resign("two")
    assert await leadership.stand("two", LONG) == "one"


async def test_of_many_that_stand_at_once_one_leads(redis_url: str) -> None:
    async def stand(name: str) -> str | None:
        async with opened(redis_url) as own:
            return await own.stand(name, LONG)

    names = [f"scheduler-{number}" for number in range(20)]
    assert len({*await asyncio.gather(*map(stand, names))}) == 1


async def test_a_server_that_has_forgotten_everything_gets_a_leader_again(
    leadership: RedisLeadership, redis: Redis
) -> None:
    await leadership.stand("one", LONG)
    await redis.flushall()
    await redis.script_flush()
    assert await leadership.stand("two", LONG) == "two"


async def test_not_to_know_is_an_answer(valkey_server: ValkeyServer) -> None:
    async with opened(valkey_server.url()) as leadership:
        assert await leadership.stand("one", LONG) == "one"
        await asyncio.to_thread(valkey_server.kill)
        assert await leadership.stand("one", LONG) is None
        await leadership.resign("one")
        await asyncio.to_thread(valkey_server.start)
        assert await known(leadership, "two") == "two", "what it held in memory only is gone"


async def test_a_silent_server_is_not_waited_for_longer_than_a_session_can_bear(valkey_server: ValkeyServer) -> None:
    async with opened(valkey_server.url(), replace(AT_ONCE, answer=timedelta(hours=1))) as leadership:
        os.kill(valkey_server.pid, signal.SIGSTOP)
        async with asyncio.timeout(LONG.total_seconds()):
            assert await leadership.stand("one", BRIEF * 3) is None
        os.kill(valkey_server.pid, signal.SIGCONT)
        assert await known(leadership, "one") == "one"


async def test_a_key_that_is_something_else_is_left_alone(leadership: RedisLeadership, redis: Redis) -> None:
    await redis.lpush(KEY, "a list of mine")
    assert await leadership.stand("one", LONG) is None
    await leadership.resign("one")
    assert await redis.lrange(KEY, 0, -1) == ["a list of mine"]


async def test_no_server_at_all_is_no_reason_not_to_start() -> None:
    async with opened(f"redis://127.0.0.1:{free_port()}/0") as leadership:
        assert await leadership.stand("one", LONG) is None


async def test_a_server_that_refuses_the_password_is_one(redis_url: str) -> None:
    with pytest.raises(ConfigurationError, match="check user and password"):
        async with opened(redis_url.replace("redis://:", "redis://:wrong")):
            pass
