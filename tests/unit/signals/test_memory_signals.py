import asyncio
from datetime import timedelta

from mainspring.adapters.inbox import MAX_REMEMBERED
from mainspring.adapters.memory.signals import Hub

LONG = timedelta(seconds=30)
NOW = timedelta(0)


async def test_a_wait_ends_when_its_topic_is_notified() -> None:
    hub = Hub()
    waiting, notifying = hub.subscribe(), hub.subscribe()
    wait = asyncio.create_task(waiting.wait(["a", "b"], LONG))
    await asyncio.sleep(0)
    await notifying.notify(["b"])
    assert await wait is True


async def test_a_signal_before_the_wait_is_remembered_once() -> None:
    signals = Hub().subscribe()
    await signals.notify(["a"])
    assert await signals.wait(["a"], NOW) is True
    assert await signals.wait(["a"], NOW) is False


async def test_other_topics_neither_wake_nor_are_forgotten() -> None:
    signals = Hub().subscribe()
    await signals.notify(["other"])
    assert await signals.wait(["a"], NOW) is False
    assert await signals.wait(["other"], NOW) is True


async def test_everyone_who_waits_for_the_topic_is_woken() -> None:
    hub = Hub()
    first, second = hub.subscribe(), hub.subscribe()
    waits = [asyncio.create_task(signals.wait(["a"], LONG)) for signals in (first, first, second)]
    await asyncio.sleep(0)
    await second.notify(["a"])
    assert [await wait for wait in waits] == [True, True, True]
    assert await first.wait(["a"], NOW) is False


async def test_a_cancelled_wait_leaves_the_signal_to_the_next_one() -> None:
    signals = Hub().subscribe()
    wait = asyncio.create_task(signals.wait(["a"], LONG))
    await asyncio.sleep(0)
    wait.cancel()
    await asyncio.gather(wait, return_exceptions=True)
    await signals.notify(["a"])
    assert await signals.wait(["a"], NOW) is True


async def test_another_thread_may_notify() -> None:
    hub = Hub()
    waiting, notifying = hub.subscribe(), hub.subscribe()
    wait = asyncio.create_task(waiting.wait(["a"], LONG))
    await asyncio.sleep(0)
    await asyncio.to_thread(asyncio.run, notifying.notify(["a"]))
    assert await wait is True


async def test_topics_that_nobody_waits_for_are_forgotten_before_they_fill_the_memory() -> None:
    signals = Hub().subscribe()
    await signals.notify([f"topic {number}" for number in range(MAX_REMEMBERED + 1)])
    assert await signals.wait(["topic 0"], NOW) is False
    assert await signals.wait(["topic 1"], NOW) is True


async def test_a_closed_subscriber_hears_nothing_more() -> None:
    hub = Hub()
    signals = hub.subscribe()
    await signals.close()
    await signals.close()
    await hub.subscribe().notify(["a"])
    assert await signals.wait(["a"], NOW) is False
