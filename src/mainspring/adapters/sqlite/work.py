"""The Work port on SQLite; each verb is one operation of the engine and has a file of its own."""

from collections.abc import Mapping, Sequence
from datetime import timedelta
from functools import partial

from mainspring.adapters.sqlite.add import add
from mainspring.adapters.sqlite.claim import claim, next_wakes
from mainspring.adapters.sqlite.engine import Engine, Transaction
from mainspring.adapters.sqlite.rows import dump, duration
from mainspring.adapters.sqlite.settle import settle
from mainspring.adapters.sqlite.statements import load
from mainspring.adapters.sqlite.steer import steer
from mainspring.domain.ids import JobId, Lane, RunId, SessionId
from mainspring.domain.job import NewJob
from mainspring.domain.outcome import Settled, Verdict
from mainspring.domain.run import NewRun
from mainspring.ports.work import Added, Claim, Note, Order, Steered

_SQL = load("work")


class SqliteWork:
    """Runs in `queue` while they live and in `history` once they have ended."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._turn = 0

    async def add(
        self, items: Sequence[NewRun | NewJob], *, together: bool = False, note: Note | None = None
    ) -> Sequence[Added]:
        """Store each item once."""
        if not items:
            return []
        return await self._engine.write(partial(add, items=items, together=together, note=note))

    async def claim(self, by: SessionId, lanes: Sequence[Lane], limit: int) -> Claim:
        """Hand over the best waiting runs; each claim begins with another lane."""
        self._turn += 1
        first = self._turn % max(len(lanes), 1)
        in_turn = [*lanes[first:], *lanes[:first]]
        claimed = await self._engine.write(partial(claim, by=by, lanes=in_turn, limit=limit))
        next_in = None if claimed.more_at is None else self._until(claimed.more_at)
        return Claim(attempts=claimed.attempts, next_in=next_in)

    async def settle(self, verdicts: Sequence[Verdict]) -> Sequence[Settled]:
        """Apply each verdict whose fence is current."""
        if not verdicts:
            return []
        return await self._engine.write(partial(settle, verdicts=verdicts))

    async def steer(self, run: RunId, order: Order) -> Steered:
        """Cancel, hold, release or edit."""
        return await self._engine.write(partial(steer, run=run, order=order))

    async def discard(self, runs: Sequence[RunId]) -> Sequence[bool]:
        """Take dead letters off the list."""
        return await self._engine.write(partial(_discard, runs=runs))

    async def hide(self, job: JobId) -> bool:
        """Leave a one-shot job that has ended, or is about to, out of every view."""
        return await self._engine.write(partial(_hide, job=job))

    async def next_wake(self, lanes: Sequence[Lane]) -> Mapping[Lane, timedelta]:
        """When the next waiting run of each lane wakes."""
        wakes = await self._engine.read(partial(next_wakes, lanes=lanes))
        return {lane: self._until(wake) for lane, wake in wakes.items()}

    def _until(self, moment: int) -> timedelta:
        """Counted from the answer: from the question, a commit would be added to every wait."""
        return duration(max(moment - self._engine.now(), 0))


def _discard(transaction: Transaction, runs: Sequence[RunId]) -> Sequence[bool]:
    digits = dump([run.hex for run in runs])
    listed = transaction.value(_SQL["listed_dead"], digits)
    transaction.execute(_SQL["resolve_dead_letters"], digits)
    return [run.hex in listed for run in runs]


def _hide(transaction: Transaction, job: JobId) -> bool:
    if transaction.value(_SQL["may_be_hidden"], job.bytes) is None:
        return False
    transaction.execute(_SQL["hide"], job.bytes)
    transaction.execute(_SQL["resolve_dead_letters"], dump([job.hex]))
    return True
