"""Calls that come while others are under way go together as the next: the busier, the larger the batches, and no timer.

Two batches are under way at a time: while the server stores one, the next is being made.
"""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from typing import Generic, NamedTuple, TypeVar

from mainspring.adapters.postgres.failures import concerns_everybody
from mainspring.errors import MainspringError

T = TypeVar("T")
R = TypeVar("R")

ABREAST = 2


class _Call(NamedTuple, Generic[T, R]):
    items: Sequence[T]
    answer: "asyncio.Future[Sequence[R]]"


class Coalescer(Generic[T, R]):
    """Sends items for many callers, who get the answers to their own.

    A caller that leaves takes nothing with it: what was asked in company is done. A failure that may be due to a single
    item isn't blamed on the others: then everybody's items are sent alone.
    """

    def __init__(self, send: Callable[[Sequence[T]], Awaitable[Sequence[R]]], *, most: int) -> None:
        self._send = send
        self._most = most
        self._free = ABREAST
        self._under_way = 0
        """Items that are being sent, but for those of large calls."""
        self._waiting: deque[_Call[T, R]] = deque()
        self._senders: set[asyncio.Task[None]] = set()

    async def __call__(self, items: Sequence[T]) -> Sequence[R]:
        """The answers to *items*, in their order; more of them than *most* go alone, at once."""
        if len(items) > self._most:
            return await self._send(items)
        if not self._free:
            call: _Call[T, R] = _Call(items, asyncio.get_running_loop().create_future())
            self._waiting.append(call)
            return await call.answer
        self._free -= 1
        try:
            return await self._counted(items)
        finally:
            self._go_on()

    async def _counted(self, items: Sequence[T]) -> Sequence[R]:
        self._under_way += len(items)
        try:
            return await self._send(items)
        finally:
            self._under_way -= len(items)

    def _go_on(self) -> None:
        if not self._waiting:
            self._free += 1
            return
        sender = asyncio.create_task(self._send_waiting())
        self._senders.add(sender)
        sender.add_done_callback(self._senders.discard)

    async def _send_waiting(self) -> None:
        try:
            while self._waiting:
                await self._send_together(self._batch())
                await asyncio.sleep(0)  # whoever was answered may have more, which then goes along
        finally:
            self._free += 1
            while self._waiting:  # only if this task was cancelled
                self._waiting.popleft().answer.cancel()

    def _batch(self) -> Sequence[_Call[T, R]]:
        """Calls to send together: no more than their share, or one batch would have all and the other nothing."""
        waiting = sum(len(call.items) for call in self._waiting)
        share = -(-(waiting + self._under_way) // ABREAST)
        batch = [self._waiting.popleft()]
        room = min(share, self._most) - len(batch[0].items)
        while self._waiting and len(self._waiting[0].items) <= room:
            batch.append(self._waiting.popleft())
            room -= len(batch[-1].items)
        return batch

    async def _send_together(self, calls: Sequence[_Call[T, R]]) -> None:
        try:
            answers = await self._counted([item for call in calls for item in call.items])
        except asyncio.CancelledError:
            for call in calls:
                call.answer.cancel()
            raise
        except Exception as error:  # noqa: BLE001 - whoever asked has to learn of it, whatever it is
            await self._explain(calls, error)
            return
        start = 0
        for call in calls:
            end = start + len(call.items)
            if not call.answer.done():
                call.answer.set_result(answers[start:end])
            start = end

    async def _explain(self, calls: Sequence[_Call[T, R]], error: Exception) -> None:
        if len(calls) > 1 and isinstance(error, MainspringError) and not concerns_everybody(error):
            for call in calls:
                await self._send_together([call])
            return
        for call in calls:
            if not call.answer.done():
                call.answer.set_exception(error)
