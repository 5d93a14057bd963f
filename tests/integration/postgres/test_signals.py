import asyncio
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import timedelta
from urllib.parse import urlsplit

import asyncpg
import pytest
import uvloop

from mainspring.adapters.exchange import SEPARATOR
from mainspring.adapters.pace import Pace
from mainspring.adapters.postgres.address import Address, address
from mainspring.adapters.postgres.hearing import LISTENER
from mainspring.adapters.postgres.pooling import check_sessions
from mainspring.adapters.postgres.signals import PostgresHub, channel_of
from mainspring.adapters.system.chance import SystemRandom
from mainspring.errors import ConfigurationError, StoreUnavailable
from servers.ports import free_port
from servers.postgres import PostgresServer
from tests.integration.postgres.pooler import pooled
from tests.integration.postgres.relay import relayed

LONG = timedelta(seconds=30)
NOW = timedelta(0)
BRISK = Pace(heartbeat=timedelta(milliseconds=50), longest_pause=timedelta(milliseconds=200))
NAMED = "SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND application_name = $1"

ECHO = """
import asyncio, sys
from datetime import timedelta
from mainspring.adapters.postgres.address import address
from mainspring.adapters.postgres.signals import PostgresHub
from mainspring.adapters.system.chance import SystemRandom

async def main():
    hub = await PostgresHub.open(address(sys.argv[1]), random=SystemRandom())
    signals = await hub.subscribe()
    print("listening", flush=True)
    heard = await signals.wait(["question"], timedelta(seconds=30))
    await signals.notify(["answer" if heard else "silence"])
    await hub.close()

asyncio.run(main())
"""


@asynccontextmanager
async def opened(where: Address | str, pace: Pace = BRISK) -> AsyncIterator[PostgresHub]:
    place = address(where) if isinstance(where, str) else where
    hub = await PostgresHub.open(place, random=SystemRandom(), pace=pace)
    try:
        yield hub
    finally:
        await hub.close()


async def notified_until(hub: PostgresHub, topic: str, heard: "asyncio.Task[bool]") -> bool:
    """Notify again and again: single hints may be lost while a connection comes back."""
    while not heard.done():
        await hub.publish([topic])
        await asyncio.sleep(0.01)
    return await heard


async def test_two_processes_wake_each_other(postgres_url: str) -> None:
    async with opened(postgres_url) as hub:
        signals = await hub.subscribe()
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-c", ECHO, postgres_url, stdout=asyncio.subprocess.PIPE
        )
        assert process.stdout is not None
        assert await process.stdout.readline() == b"listening\n"
        await signals.notify(["question"])
        assert await signals.wait(["answer", "silence"], LONG)
        assert not await signals.wait(["silence"], NOW)
        assert await process.wait() == 0


async def test_a_process_listens_once_however_many_subscribe(postgres_url: str) -> None:
    async with opened(postgres_url) as hub:
        subscribers = [await hub.subscribe() for _ in range(5)]
        await hub.publish(["a"])
        assert all([await subscriber.wait(["a"], LONG) for subscriber in subscribers])
        watcher = await asyncpg.connect(postgres_url)
        assert len(await watcher.fetch(NAMED, LISTENER)) == 1
        await watcher.close()


async def test_a_process_that_only_sends_does_not_listen(postgres_url: str) -> None:
    async with opened(postgres_url) as hub:
        await hub.sender().notify(["a"])
        watcher = await asyncpg.connect(postgres_url)
        assert await watcher.fetch(NAMED, LISTENER) == []
        await watcher.close()


async def test_subscribers_that_come_together_share_one_listener(postgres_url: str) -> None:
    async with opened(postgres_url) as hub:
        await asyncio.gather(*(hub.subscribe() for _ in range(3)))
        watcher = await asyncpg.connect(postgres_url)
        assert len(await watcher.fetch(NAMED, LISTENER)) == 1
        await watcher.close()


async def test_a_process_is_not_woken_again_by_its_own_notification(postgres_url: str) -> None:
    async with opened(postgres_url) as hub, opened(postgres_url) as other:
        signals = await hub.subscribe()
        publishing = asyncio.create_task(hub.publish(["a"]))
        assert await signals.wait(["a"], LONG)
        await publishing
        await other.publish(["after"])
        assert await signals.wait(["after"], LONG)  # notifications arrive in order, so the first has been here by now
        assert not await signals.wait(["a"], NOW)


async def test_a_subscriber_that_left_hears_nothing(postgres_url: str) -> None:
    async with opened(postgres_url) as hub:
        signals = await hub.subscribe()
        await signals.close()
        await signals.close()
        await hub.publish(["a"])
        assert not await signals.wait(["a"], NOW)


async def test_stores_in_two_schemas_of_one_database_do_not_hear_each_other(postgres_url: str) -> None:
    here = address(postgres_url)
    there = replace(here, schema="another")
    async with opened(here) as hub, opened(there) as stranger, opened(here) as friend:
        deaf, hearing = await stranger.subscribe(), await friend.subscribe()
        await hub.publish(["a"])
        assert await hearing.wait(["a"], LONG)
        await stranger.publish(["b"])
        assert not await deaf.wait(["a"], NOW)


async def test_topics_that_no_single_payload_holds_all_arrive(postgres_url: str) -> None:
    topics = [f"{number:04d}" + "é" * 100 for number in range(200)]
    async with opened(postgres_url) as hub, opened(postgres_url) as other:
        signals = await other.subscribe()
        await hub.publish([*topics, "y" * 10_000])
        assert all([await signals.wait([topic], LONG) for topic in topics])


async def test_what_a_stranger_says_on_the_channel_does_no_harm(postgres_url: str) -> None:
    async with opened(postgres_url) as hub:
        signals = await hub.subscribe()
        stranger = await asyncpg.connect(postgres_url)
        channel = channel_of(address(postgres_url).schema)
        for payload in ("", "work/default", f"{SEPARATOR}{SEPARATOR}", f"anybody{SEPARATOR}a"):
            await stranger.execute("SELECT pg_notify($1, $2)", channel, payload)
        assert await signals.wait(["a"], LONG)
        await stranger.close()


async def test_a_lost_connection_comes_back_and_wakes_those_who_may_have_missed_something(postgres_url: str) -> None:
    async with opened(postgres_url) as hub, opened(postgres_url) as other:
        waiting, busy = await hub.subscribe(), await hub.subscribe()
        assert not await busy.wait(["b"], NOW)
        woken = asyncio.create_task(waiting.wait(["a"], LONG))
        await asyncio.sleep(0)
        administrator = await asyncpg.connect(postgres_url)
        for record in await administrator.fetch(NAMED, LISTENER):
            await administrator.execute("SELECT pg_terminate_backend($1)", record["pid"])
        assert await woken
        assert await busy.wait(["b"], LONG)
        await administrator.close()
        assert not await waiting.wait(["a"], NOW)
        assert await notified_until(other, "a", asyncio.create_task(waiting.wait(["a"], LONG)))


async def test_signals_outlive_a_restart_of_the_server(postgres_server: PostgresServer) -> None:
    async with opened(postgres_server.url()) as hub, opened(postgres_server.url()) as other:
        signals = await hub.subscribe()
        await asyncio.to_thread(postgres_server.kill)
        await other.publish(["lost"])
        await other.publish(["lost"])
        await asyncio.to_thread(postgres_server.start)
        assert await notified_until(other, "a", asyncio.create_task(signals.wait(["a"], LONG)))


async def test_a_process_wakes_itself_while_the_server_is_down(postgres_server: PostgresServer) -> None:
    async with opened(postgres_server.url()) as hub:
        signals = await hub.subscribe()
        await asyncio.to_thread(postgres_server.stop)
        await hub.publish(["a"])
        assert await signals.wait(["a"], NOW)


async def test_a_server_that_went_silent_is_left_for_one_that_answers(postgres_url: str) -> None:
    impatient = replace(BRISK, answer=timedelta(seconds=3))
    async with relayed(postgres_url) as relay, opened(relay.url, impatient) as hub, opened(postgres_url) as other:
        signals = await hub.subscribe()
        assert not await signals.wait(["a"], NOW)
        relay.freeze()
        assert await signals.wait(["a"], LONG)  # it has come back by a new connection: frozen ones stay frozen
        assert await notified_until(other, "b", asyncio.create_task(signals.wait(["b"], LONG)))


async def test_notifying_a_silent_server_ends_in_time(postgres_url: str) -> None:
    impatient = replace(BRISK, answer=timedelta(seconds=3), heartbeat=LONG)
    async with relayed(postgres_url) as relay, opened(relay.url, impatient) as hub:
        await hub.publish(["a"])
        relay.freeze()
        async with asyncio.timeout(LONG.total_seconds()):
            await asyncio.gather(*(hub.publish([f"topic-{number}"]) for number in range(20)))


async def test_notifications_asked_for_together_go_out_together(postgres_url: str) -> None:
    async with relayed(postgres_url) as relay, opened(relay.url, Pace()) as hub, opened(postgres_url) as other:
        signals = await other.subscribe()
        await hub.publish(["first"])
        before = relay.questions
        await asyncio.gather(*(hub.publish([f"topic-{number}"]) for number in range(100)))
        assert relay.questions - before < 20
        assert all([await signals.wait([f"topic-{number}"], LONG) for number in range(100)])


async def test_closing_is_quick_and_final_even_if_the_server_is_silent(postgres_url: str) -> None:
    async with relayed(postgres_url) as relay:
        async with asyncio.timeout(LONG.total_seconds()), opened(relay.url, Pace()) as hub:
            await hub.publish(["a"])
            relay.freeze()
        await hub.close()
        await hub.publish(["a"])
        async with asyncio.timeout(LONG.total_seconds()):
            await relay.until_left()


async def test_no_server_at_all_is_an_error_when_opening() -> None:
    with pytest.raises(StoreUnavailable, match=r"127\.0\.0\.1"):
        await PostgresHub.open(address(f"postgresql://nobody@127.0.0.1:{free_port()}/nowhere"), random=SystemRandom())


async def test_a_direct_connection_keeps_its_session(postgres_url: str) -> None:
    await check_sessions(address(postgres_url))


async def test_a_pooler_in_transaction_mode_is_refused(postgres_url: str) -> None:
    async with pooled(postgres_url) as url:
        with pytest.raises(ConfigurationError, match="session mode") as refused:
            await PostgresHub.open(address(url), random=SystemRandom())
    assert str(urlsplit(postgres_url).password) not in str(refused.value)


def test_a_channel_is_a_name_of_its_own_for_every_schema() -> None:
    longest = "s" * 63
    assert channel_of("mainspring") == "mainspring_mainspring"
    assert len(channel_of(longest)) <= 63
    assert channel_of(longest) != channel_of("s" * 62)


def test_it_works_on_uvloop(postgres_url: str) -> None:
    async def main() -> bool:
        async with opened(postgres_url) as hub, opened(postgres_url) as other:
            signals = await other.subscribe()
            await hub.publish(["a"])
            return await signals.wait(["a"], LONG)

    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        assert runner.run(main())
