import asyncio
import os
import signal
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import replace
from datetime import timedelta

import pytest
import uvloop
from redis.asyncio import Redis

from mainspring.adapters.exchange import SEPARATOR
from mainspring.adapters.memory.signals import Hub
from mainspring.adapters.pace import Pace
from mainspring.adapters.redis.address import address
from mainspring.adapters.redis.hearing import LISTENER
from mainspring.adapters.redis.signals import RedisHub, channel_of
from mainspring.adapters.system.chance import SystemRandom
from mainspring.errors import ConfigurationError
from servers.valkey import ValkeyServer
from tests.valkey import in_database

LONG = timedelta(seconds=30)
NOW = timedelta(0)
BRISK = Pace(heartbeat=timedelta(milliseconds=50), longest_pause=timedelta(milliseconds=200))
IMPATIENT = replace(BRISK, answer=timedelta(milliseconds=300))


@asynccontextmanager
async def opened(url: str, pace: Pace = BRISK) -> AsyncIterator[RedisHub]:
    hub = await RedisHub.open(address(url), random=SystemRandom(), pace=pace)
    try:
        yield hub
    finally:
        await hub.close()


@contextmanager
def paused(server: ValkeyServer) -> Iterator[None]:
    """The server keeps its connections and says nothing."""
    os.kill(server.pid, signal.SIGSTOP)
    try:
        yield
    finally:
        os.kill(server.pid, signal.SIGCONT)


async def heard_after_all(hub: RedisHub, topic: str, heard: "asyncio.Task[bool]") -> bool:
    """Notify again and again: single hints may be lost while a connection comes back."""
    while not heard.done():
        await hub.publish([topic])
        await asyncio.sleep(0.01)
    return await heard


@pytest.fixture
def store() -> Hub:
    """What the store's own signals would do, for all processes of a test."""
    return Hub()


async def test_a_process_listens_once_however_many_subscribe(redis_url: str, store: Hub) -> None:
    async with opened(redis_url) as hub, Redis.from_url(redis_url) as watcher:
        subscribers = [await hub.subscribe(store.subscribe()) for _ in range(5)]
        await hub.publish(["a"])
        assert all([await subscriber.wait(["a"], LONG) for subscriber in subscribers])
        names = [client["name"] for client in await watcher.client_list()]
        assert names.count(LISTENER) == 1


async def test_a_process_is_not_woken_again_by_its_own_notification(redis_url: str, store: Hub) -> None:
    async with opened(redis_url) as hub, opened(redis_url) as other:
        signals = await hub.subscribe(store.subscribe())
        await signals.notify(["a"])
        assert await signals.wait(["a"], LONG)
        await other.publish(["after"])
        assert await signals.wait(["after"], LONG)  # signals arrive in order, so the first has been here by now
        assert not await signals.wait(["a"], NOW)


async def test_a_subscriber_that_left_hears_nothing(redis_url: str, store: Hub) -> None:
    async with opened(redis_url) as hub:
        signals = await hub.subscribe(store.subscribe())
        await signals.close()
        await signals.close()
        await hub.publish(["a"])
        assert not await signals.wait(["a"], NOW)


async def test_clusters_in_two_databases_of_one_server_do_not_hear_each_other(redis_url: str, store: Hub) -> None:
    elsewhere = in_database(redis_url, 1)
    async with opened(redis_url) as hub, opened(elsewhere) as stranger, opened(redis_url) as friend:
        deaf, hearing = await stranger.subscribe(store.subscribe()), await friend.subscribe(store.subscribe())
        await hub.publish(["a"])
        assert await hearing.wait(["a"], LONG)
        assert not await deaf.wait(["a"], NOW)


async def test_what_a_stranger_says_on_the_channel_does_no_harm(redis_url: str, store: Hub) -> None:
    async with opened(redis_url) as hub, Redis.from_url(redis_url) as stranger:
        signals = await hub.subscribe(store.subscribe())
        for payload in (b"", b"work/default", b"\x1f\x1f", b"\xff\xfe\x1f\xff", f"anybody{SEPARATOR}a".encode()):
            await stranger.publish(channel_of(0), payload)
        assert await signals.wait(["a"], LONG)


async def test_while_the_server_is_away_signals_go_by_the_store_and_then_by_the_server_again(
    valkey_server: ValkeyServer, store: Hub
) -> None:
    async with opened(valkey_server.url()) as hub, opened(valkey_server.url()) as other:
        signals, sender = await hub.subscribe(store.subscribe()), other.sender(store.subscribe())
        woken = asyncio.create_task(signals.wait(["a"], LONG))
        await asyncio.sleep(0)
        await asyncio.to_thread(valkey_server.kill)
        assert await woken, "whoever waits is told that something may be missed"
        for number in range(3):
            await sender.notify([f"by the store {number}"])
            assert await signals.wait([f"by the store {number}"], LONG)

        await asyncio.to_thread(valkey_server.start)
        assert await signals.wait(["a"], LONG), "and once more when it is back"
        waiting = asyncio.create_task(signals.wait(["by the server"], LONG))
        assert await heard_after_all(other, "by the server", waiting)


async def test_what_was_heard_before_the_server_went_away_is_still_remembered(
    valkey_server: ValkeyServer, store: Hub
) -> None:
    async with opened(valkey_server.url()) as hub, opened(valkey_server.url()) as other:
        signals, witness = await hub.subscribe(store.subscribe()), await hub.subscribe(store.subscribe())
        await other.publish(["a"])
        assert await witness.wait(["a"], LONG)
        await asyncio.to_thread(valkey_server.kill)
        assert await witness.wait(["a"], LONG), "the loss is known"
        async with asyncio.timeout(LONG.total_seconds()):
            assert await signals.wait(["a"], timedelta(hours=1))


async def test_a_server_that_went_silent_is_noticed_and_heard_again(valkey_server: ValkeyServer, store: Hub) -> None:
    async with opened(valkey_server.url(), IMPATIENT) as hub, opened(valkey_server.url(), IMPATIENT) as other:
        signals, sender = await hub.subscribe(store.subscribe()), other.sender(store.subscribe())
        assert not await signals.wait(["a"], NOW)
        with paused(valkey_server):
            assert await signals.wait(["a"], LONG), "it was suspected"
            await sender.notify(["b"])
            assert await signals.wait(["b"], LONG)
        waiting = asyncio.create_task(signals.wait(["c"], LONG))
        assert await heard_after_all(other, "c", waiting)


async def test_notifications_asked_for_together_go_out_together(redis_url: str, store: Hub) -> None:
    async with opened(redis_url, Pace()) as hub, opened(redis_url) as other, Redis.from_url(redis_url) as watcher:
        signals = await other.subscribe(store.subscribe())
        await watcher.config_resetstat()
        await asyncio.gather(*(hub.publish([f"topic-{number}"]) for number in range(100)))
        assert all([await signals.wait([f"topic-{number}"], LONG) for number in range(100)])
        statistics = await watcher.info("commandstats")
        assert statistics["cmdstat_publish"]["calls"] < 20


async def test_closing_is_quick_and_final_even_if_the_server_is_silent(valkey_server: ValkeyServer, store: Hub) -> None:
    async with asyncio.timeout(LONG.total_seconds()):
        async with opened(valkey_server.url()) as hub:
            await hub.subscribe(store.subscribe())
            os.kill(valkey_server.pid, signal.SIGSTOP)
        assert not await hub.publish(["a"])
        await hub.close()


async def test_a_server_that_refuses_the_password_is_an_error_when_opening(redis_url: str) -> None:
    wrong = address(redis_url.replace("redis://:", "redis://:wrong"))
    with pytest.raises(ConfigurationError, match="check user and password") as refused:
        await RedisHub.open(wrong, random=SystemRandom())
    assert "wrong" not in str(refused.value)


@pytest.mark.parametrize("url", ["redis://", "redis:///0", "redis://host/first", "redis://host/0?no_such_option=1"])
async def test_a_url_that_makes_no_sense_is_refused(url: str) -> None:
    with pytest.raises(ConfigurationError):
        await RedisHub.open(address(url), random=SystemRandom())


def test_it_works_on_uvloop(redis_url: str, store: Hub) -> None:
    async def main() -> bool:
        async with opened(redis_url) as hub, opened(redis_url) as other:
            signals = await other.subscribe(store.subscribe())
            await hub.publish(["a"])
            return await signals.wait(["a"], LONG)

    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        assert runner.run(main())
