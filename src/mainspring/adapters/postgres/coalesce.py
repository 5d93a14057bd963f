"""Calls that come while one is under way go together as the next: the busier, the larger the batches, and no timer."""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from mainspring.adapters.postgres.failures import concerns_everybody
from mainspring.errors import MainspringError

T = TypeVar("T")
R = TypeVar("R")


@dataclass(frozen=True, slots=True)
class _Call(Generic[T, R]):
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
        self._busy = False
        self._waiting: deque[_Call[T, R]] = deque()
        self._sender: asyncio.Task[None] | None = None

    async def __call__(self, items: Sequence[T]) -> Sequence[R]:
        """The answers to *items*, in their order; more of them than *most* go alone, at once."""
        if len(items) > self._most:
            return await self._send(items)
        if self._busy:
            call: _Call[T, R] = _Call(items, asyncio.get_running_loop().create_future())
            self._waiting.append(call)
            return await call.answer
        self._busy = True
        try:
            return await self._send(items)
        finally:
            self._go_on()

    def _go_on(self) -> None:
        self._busy = bool(self._waiting)
        if self._busy:
            self._sender = asyncio.create_task(self._send_waiting())

    async def _send_waiting(self) -> None:
        try:
            while self._waiting:
                await self._send_together(self._batch())
                await asyncio.sleep(0)  # whoever was answered may have more, which then goes along
        finally:
            self._busy = False
            while self._waiting:  # only if this task was cancelled
                self._waiting.popleft().answer.cancel()

    def _batch(self) -> Sequence[_Call[T, R]]:
        batch = [self._waiting.popleft()]
        room = self._most - len(batch[0].items)
        while self._waiting and len(self._waiting[0].items) <= room:
            batch.append(self._waiting.popleft())
            room -= len(batch[-1].items)
        return batch

    async def _send_together(self, calls: Sequence[_Call[T, R]]) -> None:
        try:
            answers = await self._send([item for call in calls for item in call.items])
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
