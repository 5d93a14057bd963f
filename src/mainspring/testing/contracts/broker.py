"""The `Broker` port: messages between instances on one server, the most urgent first."""

import asyncio
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import ClassVar
from uuid import UUID

import pytest

from mainspring.ports.broker import Broker, Delivery, Message

TOPIC, OTHER = "work/default", "work/other"
NOT_AT_ALL = timedelta(0)
BRIEFLY = timedelta(milliseconds=50)
LONG_ENOUGH = timedelta(seconds=30)
"""Only a lost message lasts that long."""
NOON = datetime(2026, 1, 5, 12, tzinfo=UTC)


def a_message(
    number: int = 0, *, priority: int = 50, late: timedelta = NOT_AT_ALL, body: bytes | None = None
) -> Message:
    """A message that is told from others by its number."""
    content = b"message %d" % number if body is None else body
    return Message(key=UUID(int=number), body=content, priority=priority, due_at=NOON - late)


async def received(broker: Broker, count: int, topics: Sequence[str] = (TOPIC,), limit: int = 100) -> list[Delivery]:
    """So many messages, each acknowledged, whatever number of calls that takes."""
    deliveries: list[Delivery] = []
    async with asyncio.timeout(LONG_ENOUGH.total_seconds()):
        while len(deliveries) < count:
            fresh = await broker.receive(topics, min(limit, count - len(deliveries)), LONG_ENOUGH)
            await broker.acknowledge(fresh)
            deliveries += fresh
    return deliveries


class BrokerContract:
    """All that is asked of `Broker`; an adapter gives `broker` and `second_broker`, two instances on one server."""

    exact: ClassVar[bool] = True
    """Whether messages come in the order of their priorities and due times; else by three bands, in no order within."""
    once: ClassVar[bool] = True
    """Whether a message is delivered once while nothing fails; else it may be repeated."""

    @pytest.fixture
    async def broker(self) -> Broker:
        """One instance, nothing published."""
        raise NotImplementedError("the adapter's fixtures come first among the bases")

    @pytest.fixture
    async def second_broker(self) -> Broker:
        """Another instance on the same server."""
        raise NotImplementedError("the adapter's fixtures come first among the bases")

    async def test_what_one_publishes_another_receives_as_it_was(self, broker: Broker, second_broker: Broker) -> None:
        body = bytes(range(256))
        assert await broker.publish(TOPIC, [a_message(body=body)])
        (delivery,) = await received(second_broker, 1)
        assert (delivery.topic, delivery.body) == (TOPIC, body)

    async def test_nothing_comes_where_nothing_was_published(self, broker: Broker) -> None:
        assert not await broker.receive([TOPIC], 10, NOT_AT_ALL)
        assert not await broker.receive([TOPIC, OTHER], 10, BRIEFLY)
        assert not await broker.receive([], 10, BRIEFLY)

    async def test_to_publish_nothing_always_succeeds(self, broker: Broker) -> None:
        assert await broker.publish(TOPIC, [])
        assert not await broker.receive([TOPIC], 10, NOT_AT_ALL)

    async def test_whoever_waits_is_woken_by_a_message(self, broker: Broker, second_broker: Broker) -> None:
        waiting = asyncio.create_task(received(second_broker, 1, [OTHER, TOPIC]))
        await asyncio.sleep(0)
        await broker.publish(TOPIC, [a_message(7)])
        assert [delivery.body for delivery in await waiting] == [b"message 7"]

    async def test_no_more_is_received_than_was_asked_for(self, broker: Broker) -> None:
        await broker.publish(TOPIC, [a_message(number) for number in range(5)])
        first = await broker.receive([TOPIC], 2, LONG_ENOUGH)
        assert 1 <= len(first) <= 2
        await broker.acknowledge(first)
        rest = await received(broker, 5 - len(first), limit=3)
        assert {delivery.body for delivery in (*first, *rest)} == {b"message %d" % number for number in range(5)}

    async def test_what_is_more_urgent_comes_first(self, broker: Broker) -> None:
        messages = [
            a_message(number, priority=priority, late=timedelta(seconds=number % 3))
            for number, priority in enumerate([0, 100, 50, 51, 49, 99, 1, 50, 100, 0])
        ]
        await broker.publish(TOPIC, messages[:5])
        await broker.publish(TOPIC, messages[5:])
        known = {message.body: message for message in messages}
        came = [known[delivery.body] for delivery in await received(broker, 10, limit=4)]
        if self.exact:
            assert [(-each.priority, each.due_at) for each in came] == sorted(
                (-each.priority, each.due_at) for each in messages
            )
        assert all(one.priority > other.priority - 50 for one, other in pairwise(came)), "bands are never turned around"

    async def test_only_the_topics_asked_for_are_received(self, broker: Broker) -> None:
        await broker.publish(OTHER, [a_message(1)])
        await broker.publish(TOPIC, [a_message(2)])
        assert [delivery.topic for delivery in await received(broker, 1, [TOPIC])] == [TOPIC]
        assert not await broker.receive([TOPIC], 10, BRIEFLY)
        assert [delivery.topic for delivery in await received(broker, 1, [OTHER])] == [OTHER]

    async def test_no_topic_keeps_another_waiting(self, broker: Broker) -> None:
        for topic in (TOPIC, OTHER):
            await broker.publish(topic, [a_message(number, priority=100) for number in range(20)])
        topics = [delivery.topic for delivery in await received(broker, 8, [TOPIC, OTHER], limit=2)]
        assert set(topics) == {TOPIC, OTHER}

    async def test_many_receivers_get_everything_between_them(self, broker: Broker, second_broker: Broker) -> None:
        bodies: list[bytes] = []

        async def take(instance: Broker) -> None:
            while fresh := await instance.receive([TOPIC], 7, BRIEFLY):
                await instance.acknowledge(fresh)
                bodies.extend(delivery.body for delivery in fresh)

        await broker.publish(TOPIC, [a_message(number) for number in range(300)])
        await asyncio.gather(*(take(instance) for instance in [broker, second_broker] * 3))
        assert set(bodies) == {b"message %d" % number for number in range(300)}
        if self.once:
            assert len(bodies) == 300

    async def test_a_wait_that_was_given_up_takes_nothing_from_others(
        self, broker: Broker, second_broker: Broker
    ) -> None:
        waiting = asyncio.create_task(broker.receive([TOPIC], 10, LONG_ENOUGH))
        done = asyncio.create_task(broker.receive([OTHER], 10, BRIEFLY))
        await done
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
        await broker.publish(TOPIC, [a_message(1)])
        assert len(await received(second_broker, 1)) == 1
        await broker.publish(TOPIC, [a_message(2)])
        assert len(await received(broker, 1)) == 1

    async def test_what_was_acknowledged_may_be_acknowledged_again(self, broker: Broker) -> None:
        await broker.acknowledge([])
        await broker.publish(TOPIC, [a_message()])
        deliveries = await broker.receive([TOPIC], 1, LONG_ENOUGH)
        for _ in range(2):
            await broker.acknowledge(deliveries)

    async def test_a_broker_that_answers_says_so_and_shows_no_secret(self, broker: Broker) -> None:
        await broker.publish(TOPIC, [a_message()])
        connection = broker.connection
        assert connection.up
        assert not connection.error
        assert "@" not in connection.url
