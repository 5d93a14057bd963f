"""The Tickets port on PostgreSQL: due runs are marked and named to a broker, and started by what it brings."""

from collections.abc import Sequence
from datetime import timedelta

from mainspring.adapters.postgres.claim import BUCKETS
from mainspring.adapters.postgres.engine import Engine, Purpose
from mainspring.adapters.postgres.rows import Row, attempt_from, instant
from mainspring.adapters.postgres.statements import load
from mainspring.domain.ids import Fence, Lane, RunId, SessionId
from mainspring.domain.run import Attempt
from mainspring.domain.task import BACKSTOP
from mainspring.domain.ticket import Ticket
from mainspring.errors import SessionLost

_SQL = load("tickets")
_ID = 0


class PostgresTickets:
    """A waiting run with a deadline has a ticket out, since then."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    async def take(self, lanes: Sequence[Lane], limit: int, grace: timedelta) -> Sequence[Ticket]:
        """Take due runs that nobody has a ticket of."""
        turns = {lane: turn for turn, lane in enumerate(lanes)}
        rows = await self._engine.fetch(_SQL["take"], [*turns], limit, grace, purpose=Purpose.CLAIM)
        tickets = [_ticket(row) for row in rows]
        return sorted(tickets, key=lambda ticket: (turns[ticket.lane], -ticket.priority, ticket.wake_at))

    async def start(self, by: SessionId, tickets: Sequence[Ticket]) -> Sequence[Attempt | None]:
        """Hand over what still waits as its ticket says."""
        if not tickets:
            return []
        named = {(ticket.run_id, ticket.fence): instant(ticket.wake_at) for ticket in tickets}
        ids, fences = [run_id for run_id, _ in named], [fence for _, fence in named]
        given = (ids, fences, [*named.values()])
        rows = await self._engine.fetch(_SQL["start"], by, *given, BACKSTOP, BUCKETS, purpose=Purpose.SETTLE)
        if any(row[_ID] is None for row in rows):
            raise SessionLost(f"session {by} has ended")
        attempts = [attempt_from(row) for row in rows]
        started = {(attempt.run_id, attempt.fence - 1): attempt for attempt in attempts}
        # Of a ticket that is there twice, the first starts the run.
        return [started.pop((ticket.run_id, ticket.fence), None) for ticket in tickets]


def _ticket(row: Row) -> Ticket:
    run_id, fence, lane, priority, wake_at = row
    return Ticket(run_id=RunId(run_id), fence=Fence(fence), lane=Lane(lane), priority=priority, wake_at=wake_at)
