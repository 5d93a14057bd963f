"""The Work port. Each verb has a file of its own."""

from collections.abc import Mapping, Sequence
from datetime import timedelta

from mainspring.adapters.cassandra import letters
from mainspring.adapters.cassandra.add import add
from mainspring.adapters.cassandra.claim import Claims
from mainspring.adapters.cassandra.context import Context
from mainspring.adapters.cassandra.intents import Intents
from mainspring.adapters.cassandra.settle import settle
from mainspring.adapters.cassandra.steer import steer
from mainspring.domain.ids import JobId, Lane, RunId, SessionId
from mainspring.domain.job import NewJob
from mainspring.domain.outcome import Settled, Verdict
from mainspring.domain.run import NewRun
from mainspring.ports.audit import Audit
from mainspring.ports.work import Added, Claim, Note, Order, Steered


class CassandraWork:
    """The `Work` port. It remembers what it handed over, how far it has read, and nothing that anybody relies on."""

    def __init__(self, context: Context, audit: Audit, intents: Intents, claims: Claims) -> None:
        self._context = context
        self._audit = audit
        self._intents = intents
        self._claims = claims

    async def add(
        self,
        items: Sequence[NewRun | NewJob],
        *,
        together: bool = False,  # noqa: ARG002 - there are no transactions: a conflict takes nothing else back
        note: Note | None = None,
    ) -> Sequence[Added]:
        """Each on its own."""
        self._claims.waits.forget()
        answers = await add(self._context, items)
        if note is not None:
            await self._audit.append(note(answers))
        return answers

    async def claim(self, by: SessionId, lanes: Sequence[Lane], limit: int) -> Claim:
        """By conditional batches, one per home."""
        return await self._claims.claim(by, lanes, limit)

    async def settle(self, verdicts: Sequence[Verdict]) -> Sequence[Settled]:
        """By conditional batches, one per home."""
        self._claims.waits.forget()
        return await settle(self._context, self._intents, verdicts)

    async def steer(self, run: RunId, order: Order) -> Steered:
        """By compare-and-set on what was read."""
        self._claims.waits.forget()
        return await steer(self._context, run, order)

    async def discard(self, runs: Sequence[RunId]) -> Sequence[bool]:
        """Crossed out, not removed."""
        return await letters.discard(self._context, runs)

    async def hide(self, job: JobId) -> bool:
        """Marked, not removed."""
        return await letters.hide(self._context, job)

    async def next_wake(self, lanes: Sequence[Lane]) -> Mapping[Lane, timedelta]:
        """As far as the due index tells, and their rows confirm."""
        return await self._claims.next_wake(lanes)
