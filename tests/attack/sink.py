"""A small HTTP server that jobs deliver to. It notes what comes, and refuses a token once it has seen a newer one."""

import asyncio
import random
import time
from collections import Counter, defaultdict
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass

from aiohttp import web

LONGEST = 0.05
"""Seconds that a delivery takes at most, so that a kill meets some of them half-way."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Delivery:
    """One attempt at its effect."""

    execution: str
    token: int
    pid: int
    at: float


class Sink:
    """What was delivered, in the order in which it came."""

    def __init__(self, chance: random.Random) -> None:
        self._chance = chance
        self._more = asyncio.Condition()
        self.url = ""
        self.deliveries: list[Delivery] = []
        self.refused: list[Delivery] = []
        """Those whose token was older than one that had been delivered already."""
        self.answered: dict[Delivery, float] = {}
        """When the sink told a worker that its delivery is done."""

    @property
    def tokens(self) -> dict[str, list[int]]:
        """The tokens under which each execution was delivered."""
        found: defaultdict[str, list[int]] = defaultdict(list)
        for delivery in self.deliveries:
            found[delivery.execution].append(delivery.token)
        return found

    @property
    def repeated(self) -> int:
        """How many deliveries were not the first of their execution."""
        calls = Counter(delivery.execution for delivery in (*self.deliveries, *self.refused))
        return calls.total() - len(calls)

    def repeated_although_done(self, killed: Mapping[int, float], before: float) -> list[Delivery]:
        """Those made again after the kill of a process for which they were done so long *before* it was killed."""
        last = {delivery.execution: delivery for delivery in self.deliveries}
        return [
            delivery
            for delivery, at in self.answered.items()
            if at + before < killed.get(delivery.pid, 0) < last[delivery.execution].at
        ]

    async def until_delivered(self, executions: int) -> None:
        """Wait until so many different ones have been here."""
        async with self._more:
            await self._more.wait_for(lambda: len(self.tokens) >= executions)

    async def receive(self, request: web.Request) -> web.Response:
        delivery = Delivery(**await request.json(), at=time.monotonic())
        newest = max(self.tokens.get(delivery.execution, [0]))
        if delivery.token < newest:
            self.refused.append(delivery)
            return web.Response(status=409)
        async with self._more:
            self.deliveries.append(delivery)
            self._more.notify_all()
        await asyncio.sleep(self._chance.uniform(0, LONGEST))
        self.answered[delivery] = time.monotonic()
        return web.Response()


@asynccontextmanager
async def receiving(chance: random.Random) -> AsyncIterator[Sink]:
    """A sink on a free port for as long as the block runs."""
    sink = Sink(chance)
    app = web.Application()
    app.router.add_post("/", sink.receive)
    runner = web.AppRunner(app, shutdown_timeout=0)
    await runner.setup()
    try:
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        sink.url = f"http://127.0.0.1:{runner.addresses[0][1]}/"
        yield sink
    finally:
        await runner.cleanup()
