import asyncio
import os
import signal
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from uuid import UUID

import pytest
import uvloop
from redis.asyncio import Redis

from mainspring.adapters.pace import Pace
from mainspring.adapters.redis import broker as broker_module
from mainspring.adapters.redis.address import address
from mainspring.adapters.redis.broker import QUEUE, RECEIVER, RedisBroker, key_of
from mainspring.adapters.redis.checkup import examine_queue
from mainspring.adapters.system.chance import SystemRandom
from mainspring.adapters.system.clock import SystemClock
from mainspring.errors import ConfigurationError
from mainspring.ports.broker import Message
from servers.ports import free_port
from servers.valkey import ValkeyServer

TOPIC = "work/default"
LONG = timedelta(seconds=30)
NOT_AT_ALL = timedelta(0)
BRISK = Pace(first_pause=timedelta(milliseconds=1), longest_pause=timedelta(milliseconds=20))
IMPATIENT = replace(BRISK, answer=timedelta(milliseconds=300))


@asynccontextmanager
async def opened(url: str, pace: Pace = BRISK) -> AsyncIterator[RedisBroker]:
    broker = RedisBroker(address(url), clock=SystemClock(), random=SystemRandom(), pace=pace)
    try:
        await broker.open()
        yield broker
    finally:
        await broker.close()


@pytest.fixture
async def broker(redis_url: str) -> AsyncIterator[RedisBroker]:
    async with opened(redis_url) as broker:
        yield broker


def a_message(number: int, *, priority: int = 50, due_at: datetime = datetime(2026, 1, 5, tzinfo=UTC)) -> Message:
    return Message(key=UUID(int=number), body=f"message {number}".encode(), priority=priority, due_at=due_at)


async def until_up(broker: RedisBroker, up: bool = True) -> None:
    async with asyncio.timeout(LONG.total_seconds()):
        while broker.connection.up is not up:  # noqa: ASYNC110 - the state is what people look at
            await asyncio.sleep(0.001)


async def until_waited_for(redis: Redis) -> None:
    """Once somebody waits in the server."""
    async with asyncio.timeout(LONG.total_seconds()):
        while not await _blocked(redis):  # noqa: ASYNC110 - the server tells nobody who waits
            await asyncio.sleep(0.001)


async def _blocked(redis: Redis) -> bool:
    return any(each["name"] == RECEIVER and "b" in each["flags"] for each in await redis.client_list())


@contextmanager
def silent(server: ValkeyServer) -> Iterator[None]:
    """The server keeps its connections and says nothing."""
    os.kill(server.pid, signal.SIGSTOP)
    try:
        yield
    finally:
        os.kill(server.pid, signal.SIGCONT)


async def test_the_queue_counts_what_waits_and_is_in_order_for_whoever_looks(broker: RedisBroker, redis: Redis) -> None:
    """S4-80, 86."""
    await broker.publish(TOPIC, [a_message(1, priority=10), a_message(2, priority=90), a_message(3, priority=50)])
    assert await redis.zcard("job_scheduler:queue") == 3
    assert await redis.zrange("job_scheduler:queue", 0, -1) == ["message 2", "message 3", "message 1"]
    assert len(await broker.receive([TOPIC], 2, LONG)) == 2
    assert await redis.zcard("job_scheduler:queue") == 1


async def test_the_earlier_goes_first_to_the_millisecond_in_every_priority(broker: RedisBroker) -> None:
    moments = [
        datetime(1960, 1, 1, tzinfo=UTC),
        *(datetime(2026, 1, 5, 12, 0, 0, number * 1000, tzinfo=UTC) for number in range(3)),
        datetime(2100, 1, 1, tzinfo=UTC),
    ]
    for priority in (100, 50, 0):
        await broker.publish(TOPIC, [a_message(n, priority=priority, due_at=at) for n, at in enumerate(moments)][::-1])
        bodies = [delivery.body for delivery in await broker.receive([TOPIC], 10, LONG)]
        assert bodies == [f"message {number}".encode() for number in range(5)]


async def test_a_message_that_is_sent_twice_is_there_once(broker: RedisBroker, redis: Redis) -> None:
    for _ in range(2):
        await broker.publish(TOPIC, [a_message(1)])
    assert await redis.zcard(QUEUE) == 1


async def test_each_lane_has_a_set_which_goes_when_nobody_uses_it(broker: RedisBroker, redis: Redis) -> None:
    await broker.publish("work/mail", [a_message(1)])
    await broker.publish("elsewhere", [a_message(2)])
    assert sorted(await redis.keys()) == ["job_scheduler:queue:elsewhere", "job_scheduler:queue:mail"]
    assert 0 < await redis.ttl(key_of("work/mail")) <= 24 * 60 * 60


async def test_whoever_waits_is_woken_though_the_server_forgot_everything(broker: RedisBroker, redis: Redis) -> None:
    waiting = asyncio.create_task(broker.receive([TOPIC], 10, LONG))
    await until_waited_for(redis)
    await redis.flushall()
    await broker.publish(TOPIC, [a_message(1)])
    assert len(await waiting) == 1


async def test_a_wait_is_bounded_however_long_it_may_take(broker: RedisBroker, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(broker_module, "LONGEST_WAIT", timedelta(milliseconds=20))
    async with asyncio.timeout(LONG.total_seconds()):
        assert not await broker.receive([TOPIC], 10, timedelta(days=1))
    assert broker.connection.up


async def test_a_server_that_dies_is_missed_at_once_and_found_again(valkey_server: ValkeyServer) -> None:
    async with opened(valkey_server.url()) as broker, Redis.from_url(valkey_server.url()) as client:
        before = broker.connection
        waiting = asyncio.create_task(broker.receive([TOPIC], 10, LONG))
        await until_waited_for(client)
        await asyncio.to_thread(valkey_server.kill)
        assert not await waiting
        lost = broker.connection
        assert not lost.up
        assert lost.error
        assert lost.since >= before.since
        assert not await broker.publish(TOPIC, [a_message(1)])
        assert not await broker.receive([TOPIC], 10, LONG)
        await asyncio.to_thread(valkey_server.start)
        await until_up(broker)
        assert broker.connection.since >= lost.since
        assert broker.connection.error, "what was is still told"
        assert await broker.publish(TOPIC, [a_message(2)])
        assert [each.body for each in await broker.receive([TOPIC], 10, LONG)] == [b"message 2"]


async def test_a_server_that_falls_silent_keeps_nobody_waiting(valkey_server: ValkeyServer) -> None:
    async with opened(valkey_server.url(), IMPATIENT) as broker:
        with silent(valkey_server):
            async with asyncio.timeout(LONG.total_seconds()):
                assert not await broker.receive([TOPIC], 10, NOT_AT_ALL)
                assert not broker.connection.up
                assert not await broker.publish(TOPIC, [a_message(1)])
        await until_up(broker)


async def test_whoever_asks_for_nothing_learns_of_it_too(valkey_server: ValkeyServer) -> None:
    async with opened(valkey_server.url(), replace(BRISK, heartbeat=timedelta(milliseconds=10))) as broker:
        await asyncio.to_thread(valkey_server.kill)
        await until_up(broker, up=False)
        await asyncio.to_thread(valkey_server.start)
        await until_up(broker)


async def test_a_silent_server_is_given_up_while_publishing(valkey_server: ValkeyServer) -> None:
    async with opened(valkey_server.url(), IMPATIENT) as broker:
        with silent(valkey_server):
            async with asyncio.timeout(LONG.total_seconds()):
                assert not await broker.publish(TOPIC, [a_message(1)])
            assert not broker.connection.up
        await until_up(broker)


async def test_a_queue_that_is_something_else_is_left_alone_until_it_is_gone(broker: RedisBroker, redis: Redis) -> None:
    await redis.lpush(QUEUE, "a list of mine")
    assert not await broker.publish(TOPIC, [a_message(1)])
    assert "WRONGTYPE" in broker.connection.error
    assert await redis.lrange(QUEUE, 0, -1) == ["a list of mine"]
    await redis.delete(QUEUE)
    await until_up(broker)
    assert await broker.publish(TOPIC, [a_message(1)])


async def test_no_server_at_all_is_no_reason_not_to_start() -> None:
    async with opened(f"redis://:secret@127.0.0.1:{free_port()}/0") as broker:
        assert not broker.connection.up
        assert "secret" not in broker.connection.url
        assert not await broker.publish(TOPIC, [a_message(1)])


async def test_a_server_that_refuses_the_password_is_one(redis_url: str) -> None:
    with pytest.raises(ConfigurationError, match="check user and password"):
        async with opened(redis_url.replace("redis://:", "redis://:wrong")):
            pass


async def test_a_server_without_the_command_is_one(
    redis_url: str, redis: Redis, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def probe_of_another_age(_: Redis) -> None:
        await redis.execute_command("ZMPOP9", 1, QUEUE)  # type: ignore[no-untyped-call]  # the driver's types end here

    monkeypatch.setattr(broker_module, "probe", probe_of_another_age)
    with pytest.raises(ConfigurationError, match="needs Redis 7"):
        async with opened(redis_url):
            pass


def test_another_event_loop_will_do(redis_url: str) -> None:
    async def trip() -> int:
        async with opened(redis_url) as broker:
            await broker.publish(TOPIC, [a_message(1)])
            return len(await broker.receive([TOPIC], 10, LONG))

    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        assert runner.run(trip()) == 1


async def test_a_checkup_tells_how_much_waits_or_what_is_wrong(redis_url: str, broker: RedisBroker) -> None:
    await broker.publish(TOPIC, [a_message(1), a_message(2)])
    (remark,) = await examine_queue(address(redis_url))
    assert (remark.subject, remark.step) == ("work", "")
    assert "2 waiting" in remark.text
    (away,) = await examine_queue(address(f"redis://127.0.0.1:{free_port()}/0"))
    assert (bool(away.step), away.endangers) == (True, False)
    (refused,) = await examine_queue(address(redis_url.replace("redis://:", "redis://:wrong")))
    assert refused.endangers
