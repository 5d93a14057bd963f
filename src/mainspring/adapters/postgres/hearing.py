"""The two connections that carry signals: one that listens and comes back whenever it is lost, one that notifies.

Both are apart from the store's: a notification never waits for a store transaction and no transaction for it.
"""

import asyncio
from collections.abc import Callable, Sequence
from typing import TypeAlias

import asyncpg

from mainspring.adapters.pace import Pace
from mainspring.adapters.postgres.address import Address
from mainspring.adapters.postgres.failures import translated
from mainspring.errors import MainspringError
from mainspring.logs import get_logger
from mainspring.ports.time import Random

log = get_logger(__name__)

Connection: TypeAlias = "asyncpg.Connection[asyncpg.Record]"

LISTENER = "mainspring listener"
NOTIFIER = "mainspring notifier"
"""As administrators see them in pg_stat_activity."""

_NOTIFY = "SELECT pg_notify($1, payload) FROM unnest($2::text[]) AS payload"
_NOT_DURABLE = "SET synchronous_commit = off"
"""A hint needn't survive the server, so it doesn't wait for the disk."""


class Listener:
    """Hears one channel. *heard* gets each payload; *missed* is called when some may not have arrived."""

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
        self._opening = asyncio.Lock()
        self._keeping: asyncio.Task[None] | None = None

    async def open(self) -> None:
        """Return when the channel is heard; an error of ours if the server can't be reached at all.

        Twice changes nothing.
        """
        async with self._opening:
            if self._keeping is None:
                connection = await self._connected()
                self._keeping = asyncio.create_task(self._keep(connection), name="mainspring-listener")

    async def close(self) -> None:
        """Hear no more; twice changes nothing."""
        if self._keeping is not None:
            self._keeping.cancel()
            await asyncio.gather(self._keeping, return_exceptions=True)

    async def _keep(self, connection: Connection) -> None:
        while True:
            try:
                await self._until_lost(connection)
            finally:
                connection.terminate()
            log.warning("signals.deaf", store=self._address.shown)
            connection = await self._connected_again()
            log.info("signals.heard_again", store=self._address.shown)
            self._missed()

    async def _until_lost(self, connection: Connection) -> None:
        lost = asyncio.Event()
        connection.add_termination_listener(lambda _: lost.set())
        while not connection.is_closed():
            try:
                async with asyncio.timeout(self._pace.heartbeat.total_seconds()):
                    await lost.wait()
            except TimeoutError:
                if not await self._is_alive(connection):
                    return

    async def _is_alive(self, connection: Connection) -> bool:
        try:
            with translated(self._address.shown):
                await connection.execute("SELECT 1", timeout=self._pace.answer.total_seconds())
        except MainspringError:
            return False
        return True

    async def _connected_again(self) -> Connection:
        failures = 0
        while True:
            try:
                return await self._connected()
            except MainspringError:
                failures += 1
                await asyncio.sleep(self._pace.pause(failures, self._random))

    async def _connected(self) -> Connection:
        connection = await _connect(self._address, self._pace, LISTENER)
        try:
            with translated(self._address.shown):
                async with asyncio.timeout(self._pace.answer.total_seconds()):
                    await connection.add_listener(self._channel, self._receive)
        except BaseException:
            connection.terminate()
            raise
        return connection

    def _receive(self, _connection: object, _process: int, _channel: str, payload: object) -> None:
        self._heard(str(payload))


class Notifier:
    """Sends to one channel, if it can: what a server that doesn't answer would have been told is lost."""

    def __init__(self, address: Address, channel: str, *, random: Random, pace: Pace) -> None:
        self._address = address
        self._channel = channel
        self._random = random
        self._pace = pace
        self._connection: Connection | None = None
        self._failures = 0
        self._silent_until = float("-inf")
        self._closed = False

    async def send(self, payloads: Sequence[str]) -> None:
        """Return when the server has them, or when that took too long; only one caller at a time."""
        loop = asyncio.get_running_loop()
        if self._closed or loop.time() < self._silent_until:
            return
        try:
            with translated(self._address.shown):
                async with asyncio.timeout(self._pace.answer.total_seconds()):
                    await (await self._connected()).execute(_NOTIFY, self._channel, payloads)
        except MainspringError as error:
            self._drop()
            self._failures += 1
            self._silent_until = loop.time() + self._pace.pause(self._failures, self._random)
            if self._failures == 1:
                log.warning("signals.mute", store=self._address.shown, reason=str(error))
        else:
            if self._failures:
                log.info("signals.sent_again", store=self._address.shown)
            self._failures = 0

    async def close(self) -> None:
        """Send no more."""
        self._closed = True
        self._drop()

    async def _connected(self) -> Connection:
        if self._connection is None or self._connection.is_closed():
            self._connection = await _connect(self._address, self._pace, NOTIFIER)
            await self._connection.execute(_NOT_DURABLE)
        return self._connection

    def _drop(self) -> None:
        if self._connection is not None:
            self._connection.terminate()
            self._connection = None


async def _connect(address: Address, pace: Pace, name: str) -> Connection:
    # Other settings would be refused by poolers in session mode, which carry signals well.
    with translated(address.shown):
        return await asyncpg.connect(
            address.url, timeout=pace.answer.total_seconds(), server_settings={"application_name": name}
        )
