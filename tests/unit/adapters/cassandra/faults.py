"""Rows that fail on purpose: a process dies between two verbs, or hears no answer, or others come in between."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from enum import Enum, auto
from functools import partial
from random import Random
from typing import TypeVar

from mainspring.adapters.cassandra.rows import ALL, Change, Key, Put, Row, Rows, Span, UnknownOutcome
from mainspring.adapters.cassandra.table import Table

T = TypeVar("T")


class Died(BaseException):
    """The process is gone: nothing after this is executed, and nobody may catch it politely."""


class Fate(Enum):
    """What becomes of a conditional batch whose answer isn't heard."""

    APPLIED = auto()
    DROPPED = auto()
    APPLIED_LATE = auto()
    """Only when somebody settles it."""


@dataclass
class FaultyRows:
    """Passes everything on to *inner* until told otherwise."""

    inner: Rows
    verbs_left: int | None = None
    """The process dies instead of using one more."""
    fates: list[Fate | None] = field(default_factory=list)
    """Of the next conditional batches; None is an answer that is heard."""
    chance: Random | None = None
    """If given, others come in between at random."""
    reads: int = 0
    verbs: int = 0
    before_deciding: Callable[[], Awaitable[object]] | None = None
    """Happens once, before the next conditional batch."""
    _late: list[Callable[[], Awaitable[object]]] = field(default_factory=list)
    _then: Callable[[], Awaitable[object]] | None = None

    def unheard(self, fate: Fate, then: Callable[[], Awaitable[object]]) -> None:
        """Let the next conditional batch go unheard, and *then* happen before its sender notices."""
        self.fates, self._then = [fate], then

    async def get(
        self, table: Table, partition: Key, keys: Sequence[Key] = ((),), *, settled: bool = False
    ) -> Sequence[Row]:
        self.reads += 1
        if settled:
            await self._settle()
        return await self._use(lambda: self.inner.get(table, partition, keys, settled=settled))

    async def slice(
        self, table: Table, partition: Key, span: Span = ALL, *, limit: int, backwards: bool = False
    ) -> Sequence[Row]:
        self.reads += 1
        return await self._use(lambda: self.inner.slice(table, partition, span, limit=limit, backwards=backwards))

    async def put(self, puts: Sequence[Put]) -> None:
        if self.chance is None:
            return await self._use(lambda: self.inner.put(puts))
        for put in self.chance.sample(puts, len(puts)):
            await self._use(partial(self.inner.put, [put]))
        return None

    async def cas_batch(self, table: Table, partition: Key, changes: Sequence[Change]) -> Sequence[Row] | None:
        await self._settle()
        if self.before_deciding is not None:
            happens, self.before_deciding = self.before_deciding, None
            await happens()
        fate = self.fates.pop(0) if self.fates else None

        async def carry_out() -> Sequence[Row] | None:
            if fate is Fate.APPLIED_LATE:
                self._late.append(lambda: self.inner.cas_batch(table, partition, changes))
            heard = fate in {None, Fate.APPLIED}
            answer = await self.inner.cas_batch(table, partition, changes) if heard else None
            if fate is None:
                return answer
            if self._then is not None:
                await self._then()
            raise UnknownOutcome("no answer")

        return await self._use(carry_out)

    async def delete_range(self, table: Table, partition: Key, span: Span = ALL, *, until: int | None = None) -> None:
        return await self._use(lambda: self.inner.delete_range(table, partition, span, until=until))

    async def _settle(self) -> None:
        while self._late:
            await self._late.pop(0)()

    async def _use(self, verb: Callable[[], Awaitable[T]]) -> T:
        if self.verbs_left is not None:
            if self.verbs_left == 0:
                raise Died
            self.verbs_left -= 1
        self.verbs += 1
        await self._let_others()
        answer = await verb()
        await self._let_others()
        return answer

    async def _let_others(self) -> None:
        if self.chance is not None:
            for _ in range(self.chance.randrange(4)):
                await asyncio.sleep(0)
