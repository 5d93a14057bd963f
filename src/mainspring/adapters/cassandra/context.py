"""What every port of this store works with."""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from uuid import UUID

from mainspring.adapters.cassandra.bodies import WithBodies
from mainspring.adapters.cassandra.layout import micros
from mainspring.adapters.cassandra.ledger import Ledger, Noted
from mainspring.adapters.cassandra.rows import Put, Rows
from mainspring.adapters.cassandra.written import Written
from mainspring.errors import StoreUnavailable
from mainspring.ports.time import Clock, Random


@dataclass(frozen=True, slots=True, kw_only=True)
class Context:
    """One process's way to the rows, and its sources of time and chance."""

    rows: Rows
    clock: Clock
    random: Random
    process: UUID
    ledger: Ledger
    written: Written = field(default_factory=Written)

    @classmethod
    def over(cls, rows: Rows, *, clock: Clock, random: Random) -> "Context":
        """A context for a process that begins now."""
        process = UUID(int=random.bits(128))
        ledger = Ledger(rows, clock, process)
        return cls(rows=WithBodies(rows), clock=clock, random=random, process=process, ledger=ledger)

    def now(self) -> int:
        """The process's own time, as rows keep it."""
        return micros(self.clock.now())

    async def index(self, puts: Sequence[Put]) -> None:
        """Write index entries, but for those of directories that this process has written lately."""
        now = self.now()
        fresh = self.written.fresh(puts, now)
        if fresh:
            await self.rows.put(fresh)
            self.written.remember(fresh, now)

    async def note(self, happened: Sequence[Noted]) -> None:
        """Tell the ledger what was decided; nobody is told that it failed because telling of it did."""
        with suppress(StoreUnavailable):
            await self.ledger.note(happened)
