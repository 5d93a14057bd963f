"""The two connections that carry signals: one that listens and comes back whenever it is lost, one that notifies."""

import asyncio
from collections.abc import Callable
from contextlib import suppress
from datetime import timedelta
from typing import Any, NoReturn

from redis.asyncio import Redis
from redis.asyncio.client import PubSub

from mainspring.adapters.pace import Pace
from mainspring.adapters.redis.address import Address
from mainspring.adapters.redis.connecting import REFUSALS, THEIRS, client, refused
from mainspring.logs import get_logger
from mainspring.ports.time import Random

log = get_logger(__name__)

LISTENER = "mainspring-listener"
NOTIFIER = "mainspring-notifier"
"""As administrators see them in CLIENT LIST, where a name can't have spaces."""
NOTHING = ""
"""A payload without topics: it asks for the very right that is needed, and wakes nobody."""


class Listener:
    """Hears one channel. *heard* gets each payload; *missed* is called when some may not arrive, or haven't."""

    def __init__(
        self,
        address: Address,
        channel: str,
        *,
        heard: Callable[[str], None],
        missed: Callable[[], None],
        random: Random,
        pace: Pace,
    ) -> None:
        self._address = address
        self._channel = channel
        self._heard = heard
        self._missed = missed
        self._random = random
        self._pace = pace
        self._client = client(address, LISTENER, pace.answer.total_seconds())
        self._keeping: asyncio.Task[None] | None = None
        self._tried = asyncio.Event()
        self.hears = False
        """Whether the channel is heard, as far as is known."""

    async def open(self) -> None:
        """Return when the channel is heard, or when a first try has failed: it goes on until it succeeds."""
        if self._keeping is None:
            self._keeping = asyncio.create_task(self._keep(), name="mainspring-listener")
        await self._tried.wait()

    async def close(self) -> None:
        """Hear no more; twice changes nothing."""
        if self._keeping is not None:
            self._keeping.cancel()
            await asyncio.gather(self._keeping, return_exceptions=True)
        await self._client.aclose()

    async def _keep(self) -> None:
        failures = 0
        while True:
            lost, heard = await self._hear_for_once()
            failures = 1 if heard else failures + 1
            if failures == 1:
                log.warning("signals.deaf", redis=self._address.shown, reason=str(lost) or type(lost).__name__)
                self._missed()
            await asyncio.sleep(self._pace.pause(failures, self._random))

    async def _hear_for_once(self) -> tuple[BaseException, bool]:
        """Listen on one connection to its end; return what ended it, and whether anything could be heard."""
        subscription = self._client.pubsub()
        heard = False
        try:
            await self._subscribe(subscription)
            heard = True
            await self._listen(subscription)
        except THEIRS as error:
            return error, heard
        finally:
            self.hears = False
            self._tried.set()
            with suppress(*THEIRS):
                await subscription.aclose()  # type: ignore[no-untyped-call]  # the driver's types end here

    async def _subscribe(self, subscription: PubSub) -> None:
        async with asyncio.timeout(self._pace.answer.total_seconds()):
            await subscription.subscribe(self._channel)
            if await self._next(subscription, self._pace.answer) is None:
                raise TimeoutError("the subscription isn't confirmed")
        if self._tried.is_set():
            log.info("signals.heard_again", redis=self._address.shown)
        self.hears = True
        self._tried.set()
        self._missed()

    async def _listen(self, subscription: PubSub) -> NoReturn:
        """Hand on what comes, until the connection is lost or the server stays silent when it is asked."""
        asked = False
        while True:
            pause = self._pace.answer if asked else self._pace.heartbeat
            message = await self._next(subscription, pause)
            if message is None and asked:
                raise TimeoutError("no answer to a ping")
            asked = message is None
            if message is None:
                await subscription.ping()
            elif message["type"] == "message":
                self._heard(message["data"].decode(errors="replace"))

    async def _next(self, subscription: PubSub, at_most: timedelta) -> dict[str, Any] | None:
        message: dict[str, Any] | None = await subscription.get_message(timeout=at_most.total_seconds())
        return message


class Notifier:
    """Sends to one channel, if it can: what a server that doesn't answer would have been told is lost."""

    def __init__(self, address: Address, channel: str, *, random: Random, pace: Pace) -> None:
        self._address = address
        self._channel = channel
        self._random = random
        self._pace = pace
        self._client: Redis = client(address, NOTIFIER, pace.answer.total_seconds())
        self._failures = 0
        self._silent_until = float("-inf")
        self._closed = False

    async def open(self) -> None:
        """Connect if that is possible; ConfigurationError if there is a server, but it lets nobody in like this."""
        try:
            async with asyncio.timeout(self._pace.answer.total_seconds()):
                await self._client.publish(self._channel, NOTHING)
        except REFUSALS as error:
            raise refused(self._address, error) from error
        except THEIRS as error:
            self._fail(error)

    async def send(self, payload: str) -> bool:
        """Whether the server has it, after no longer than that may take; only one caller at a time."""
        if self._closed or asyncio.get_running_loop().time() < self._silent_until:
            return False
        try:
            async with asyncio.timeout(self._pace.answer.total_seconds()):
                await self._client.publish(self._channel, payload)
        except THEIRS as error:
            self._fail(error)
            return False
        if self._failures:
            log.info("signals.sent_again", redis=self._address.shown)
        self._failures = 0
        return True

    async def close(self) -> None:
        """Send no more."""
        self._closed = True
        await self._client.aclose()

    def _fail(self, error: BaseException) -> None:
        self._failures += 1
        self._silent_until = asyncio.get_running_loop().time() + self._pace.pause(self._failures, self._random)
        if self._failures == 1:
            log.warning("signals.mute", redis=self._address.shown, reason=str(error) or type(error).__name__)
