"""A broker of sorted sets: the most urgent message is the first, exactly, and whoever pops it has it alone.

There is nothing to acknowledge. A message that was popped and came to nothing is lost, and so is all that a server
forgets: the store finds the work again.
"""

import asyncio
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from redis.asyncio import Redis
from redis.exceptions import ResponseError

from mainspring.adapters.pace import Pace
from mainspring.adapters.redis.address import Address
from mainspring.adapters.redis.connecting import REFUSALS, THEIRS, client, refused
from mainspring.adapters.redis.reconnecting import Reconnecting
from mainspring.domain.ids import DEFAULT_LANE
from mainspring.domain.task import HIGHEST_PRIORITY
from mainspring.errors import ConfigurationError
from mainspring.ports.broker import Connection, Delivery, Message
from mainspring.ports.signals import lane_of
from mainspring.ports.time import Clock, Random

QUEUE = "job_scheduler:queue"
"""The default lane's sorted set; those of others have their lane's name behind it."""
NOBODYS = "job_scheduler:nothing"
"""A key that is never written, for asking whether the server knows the commands."""
PUBLISHER = "mainspring-publisher"
RECEIVER = "mainspring-receiver"
"""As administrators see them in CLIENT LIST."""
LONGEST_WAIT = timedelta(seconds=5)
FORGOTTEN_AFTER = timedelta(days=1)
"""A set that nothing is added to for this long goes: nobody serves its lane any more."""

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MILLISECOND = timedelta(milliseconds=1)
_PRIORITY = 1 << 42
"""More than there are milliseconds until the year 2109; a hundred times that is exact in a double."""


class RedisBroker:
    """All messages of one process: one connection that waits for them, others that send."""

    def __init__(self, address: Address, *, clock: Clock, random: Random, pace: Pace | None = None) -> None:
        self._address = address
        self._pace = pace or Pace()
        answer = self._pace.answer.total_seconds()
        self._publisher: Redis = client(address, PUBLISHER, answer)
        self._receiver: Redis = client(address, RECEIVER, answer + LONGEST_WAIT.total_seconds())
        self._server = Reconnecting(address, self._probe, clock=clock, random=random, pace=self._pace)
        self._turn = 0

    async def open(self) -> None:
        """Connect if that is possible; ConfigurationError if there is a server, but it will never do."""
        try:
            await self._server.check()
        except REFUSALS as error:
            raise refused(self._address, error) from error
        except THEIRS as error:
            if isinstance(error, ResponseError) and "unknown command" in str(error).lower():
                raise ConfigurationError(
                    f"{self._address.shown} is too old to be a broker: it needs Redis 7, or any Valkey ({error})"
                ) from error
            self._server.lost(error)
        self._server.keep()

    @property
    def connection(self) -> Connection:
        """How it stands with the server."""
        return self._server.connection

    async def publish(self, topic: str, messages: Sequence[Message]) -> bool:
        """Add *messages* to the topic's set; the same message is there once, however often it is sent."""
        if not messages:
            return True
        if not self.connection.up:
            return False
        key = key_of(topic)
        try:
            async with asyncio.timeout(self._pace.answer.total_seconds()):
                async with self._publisher.pipeline(transaction=False) as sending:
                    sending.zadd(key, {message.body: score(message) for message in messages})
                    sending.expire(key, FORGOTTEN_AFTER)
                    await sending.execute()
        except THEIRS as error:
            self._server.lost(error)
            return False
        self._server.worked()
        return True

    async def receive(self, topics: Sequence[str], limit: int, wait: timedelta) -> Sequence[Delivery]:
        """Pop the first of one topic after the other that has any; another one is asked first each time."""
        if not self.connection.up or not topics or limit <= 0:
            return ()
        self._turn += 1
        first = self._turn % len(topics)
        keys = {key_of(topic): topic for topic in (*topics[first:], *topics[:first])}
        try:
            reply = await self._pop([*keys], limit, min(wait, LONGEST_WAIT))
        except THEIRS as error:
            self._server.lost(error)
            return ()
        self._server.worked()
        if reply is None:
            return ()
        key, members = reply
        topic = keys[bytes(key).decode()]
        return [Delivery(topic=topic, body=bytes(body)) for body, _ in members]

    async def acknowledge(self, deliveries: Sequence[Delivery]) -> None:
        """Nothing to do: what was popped isn't delivered again."""

    async def close(self) -> None:
        """Let the connections go."""
        await self._server.close()
        await self._publisher.aclose()
        await self._receiver.aclose()

    async def _pop(self, keys: list[str], limit: int, wait: timedelta) -> Any:
        async with asyncio.timeout((self._pace.answer + wait).total_seconds()):
            if wait < _MILLISECOND:  # to the server, no time to wait would mean for ever
                return await self._receiver.zmpop(len(keys), keys, min=True, count=limit)
            return await self._receiver.bzmpop(wait.total_seconds(), len(keys), keys, min=True, count=limit)

    async def _probe(self) -> None:
        await probe(self._publisher)


async def probe(server: Redis) -> None:
    """Ask for what a broker needs: a queue that is a sorted set or isn't there yet, and a command of Redis 7."""
    await server.zcard(QUEUE)
    await server.zmpop(1, [NOBODYS], min=True)


def key_of(topic: str) -> str:
    """The sorted set of a topic; people look for the default lane's under a name of its own."""
    lane = lane_of(topic)
    return QUEUE if lane == DEFAULT_LANE else f"{QUEUE}:{lane or topic}"


def score(message: Message) -> float:
    """The less, the sooner: by priority, then by when it was due, to the millisecond."""
    due = max((message.due_at - _EPOCH) // _MILLISECOND, 0)
    return float((HIGHEST_PRIORITY - message.priority) * _PRIORITY + min(due, _PRIORITY - 1))
