"""Many single requests, one batch: whatever comes while the store is busy goes together next. There is no timer."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Generic, TypeVar

from mainspring.errors import StoreError

MOST = 1000

Item = TypeVar("Item")
Answer = TypeVar("Answer")


class Coalescer(Generic[Item, Answer]):
    """Hands items on in batches, one batch at a time, and each caller its own answer."""

    def __init__(self, flush: Callable[[Sequence[Item]], Awaitable[Sequence[Answer]]], most: int = MOST) -> None:
        self._flush = flush
        self._most = most
        self._waiting: list[tuple[Item, asyncio.Future[Answer]]] = []
        self._flushing: asyncio.Task[None] | None = None

    async def put(self, item: Item) -> Answer:
        """The answer for *item*; whoever stops waiting doesn't take it back."""
        future: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()
        self._waiting.append((item, future))
        if self._flushing is None:
            self._flushing = asyncio.create_task(self._run())
        return await future

    async def _run(self) -> None:
        try:
            while self._waiting:
                batch, self._waiting = self._waiting[: self._most], self._waiting[self._most :]
                await self._answer(batch)
        finally:
            self._flushing = None

    async def _answer(self, batch: Sequence[tuple[Item, asyncio.Future[Answer]]]) -> None:
        try:
            answers = await self._flush([item for item, _ in batch])
        except Exception as error:  # noqa: BLE001 - it belongs to those who wait
            if len(batch) == 1 or isinstance(error, StoreError):
                for _, future in batch:
                    _fail(future, error)
                return
            for one in batch:  # a bad item must not fail its neighbours
                await self._answer([one])
            return
        for (_, future), answer in zip(batch, answers, strict=True):
            if not future.done():
                future.set_result(answer)


def _fail(future: "asyncio.Future[Answer]", error: Exception) -> None:
    if not future.done():
        future.set_exception(error)
