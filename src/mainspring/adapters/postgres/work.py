"""The Work port on PostgreSQL; each verb has a file of its own."""

from collections.abc import Mapping, Sequence
from datetime import timedelta
from functools import partial

from mainspring.adapters.postgres.add import Adder
from mainspring.adapters.postgres.bounds import earliest_end
from mainspring.adapters.postgres.claim import claim, next_wakes
from mainspring.adapters.postgres.engine import Engine, Purpose
from mainspring.adapters.postgres.settle import settle
from mainspring.adapters.postgres.statements import load
from mainspring.adapters.postgres.steer import steer
from mainspring.domain.ids import JobId, Lane, RunId, SessionId
from mainspring.domain.job import NewJob
from mainspring.domain.outcome import Settled, Verdict
from mainspring.domain.run import NewRun
from mainspring.ports.signals import Herald
from mainspring.ports.time import Clock
from mainspring.ports.work import Added, Claim, Note, Order, Steered

_SQL = load("work")


class PostgresWork:
    """Runs in `queue` while they live and in `history` once they have ended."""

    def __init__(self, engine: Engine, clock: Clock, herald: Herald | None) -> None:
        self._engine = engine
        self._clock = clock
        self._adder = Adder(engine, herald)
        self._turn = 0

    async def add(
        self, items: Sequence[NewRun | NewJob], *, together: bool = False, note: Note | None = None
    ) -> Sequence[Added]:
        """Store each item once."""
        if not items:
            return []
        return await self._adder.add(items, together=together, note=note)

    async def claim(self, by: SessionId, lanes: Sequence[Lane], limit: int) -> Claim:
        """Hand over the best waiting runs; each claim begins with another lane."""
        self._turn += 1
        first = self._turn % max(len(lanes), 1)
        return await claim(self._engine, self._clock, by, [*lanes[first:], *lanes[:first]], limit)

    async def settle(self, verdicts: Sequence[Verdict]) -> Sequence[Settled]:
        """Apply each verdict whose fence is current."""
        return await settle(self._engine, verdicts)

    async def steer(self, run: RunId, order: Order) -> Steered:
        """Cancel, hold, release or edit."""
        return await self._engine.write(partial(steer, run=run, order=order), Purpose.WRITE)

    async def discard(self, runs: Sequence[RunId]) -> Sequence[bool]:
        """Take dead letters off the list."""
        rows = await self._engine.fetch(_SQL["discard"], runs, purpose=Purpose.WRITE)
        listed = {run_id for (run_id,) in rows}
        return [run in listed for run in runs]

    async def hide(self, job: JobId) -> bool:
        """Leave a one-shot job that has ended, or is about to, out of every view."""
        return bool(await self._engine.value(_SQL["hide"], job, earliest_end([job]), purpose=Purpose.WRITE))

    async def next_wake(self, lanes: Sequence[Lane]) -> Mapping[Lane, timedelta]:
        """When the next waiting run of each lane wakes."""
        return await next_wakes(self._engine, lanes)
