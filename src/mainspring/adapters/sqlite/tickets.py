"""The Tickets port on SQLite: due runs are marked and named to a broker, and started by what it brings."""

import json
from collections.abc import Sequence
from datetime import timedelta
from functools import partial

from mainspring.adapters.sqlite.claim import hand_over, holder, levels
from mainspring.adapters.sqlite.engine import Engine, Transaction
from mainspring.adapters.sqlite.rows import dump, identity, micros, to_instant, to_micros
from mainspring.adapters.sqlite.statements import load
from mainspring.domain.ids import Fence, Lane, RunId, SessionId
from mainspring.domain.run import Attempt
from mainspring.domain.ticket import Ticket

_SQL = load("tickets")


class SqliteTickets:
    """A waiting run with a deadline has a ticket out, since then."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    async def take(self, lanes: Sequence[Lane], limit: int, grace: timedelta) -> Sequence[Ticket]:
        """Take due runs that nobody has a ticket of."""
        return await self._engine.write(partial(_take, lanes=lanes, limit=limit, grace=grace))

    async def start(self, by: SessionId, tickets: Sequence[Ticket]) -> Sequence[Attempt | None]:
        """Hand over what still waits as its ticket says."""
        if not tickets:
            return []
        return await self._engine.write(partial(_start, by=by, tickets=tickets))


def _take(transaction: Transaction, lanes: Sequence[Lane], limit: int, grace: timedelta) -> Sequence[Ticket]:
    taken: list[Ticket] = []
    for lane in lanes:
        for priority, wake in levels(transaction, lane):
            if wake <= transaction.now and len(taken) < limit:
                found = transaction.value(_SQL["untaken"], lane, priority, transaction.now, limit - len(taken))
                taken += [_ticket(row, lane, priority) for row in json.loads(found)]
    ids = dump([ticket.run_id.hex for ticket in taken])
    transaction.execute(_SQL["take"], ids, transaction.now, transaction.now + micros(grace))
    return taken


def _ticket(row: Sequence[str | int], lane: Lane, priority: int) -> Ticket:
    run_id, fence, wake = row
    return Ticket(
        run_id=RunId(identity(str(run_id))),
        fence=Fence(int(fence)),
        lane=lane,
        priority=priority,
        wake_at=to_instant(int(wake)),
    )


def _start(transaction: Transaction, by: SessionId, tickets: Sequence[Ticket]) -> Sequence[Attempt | None]:
    worker = holder(transaction, by)
    named = {(ticket.run_id, ticket.fence): to_micros(ticket.wake_at) for ticket in tickets}
    given = dump([(run_id.hex, fence, wake) for (run_id, fence), wake in named.items()])
    current = json.loads(transaction.value(_SQL["current"], given, transaction.now))
    # What the row says is when claims may have it; how long it has waited is told by when it was to start.
    transaction.execute(_SQL["wake"], dump(current))
    attempts = hand_over(transaction, by, worker, [row for row, _ in current]) if current else ()
    started = {(attempt.run_id, attempt.fence - 1): attempt for attempt in attempts}
    # Of a ticket that is there twice, the first starts the run.
    return [started.pop((ticket.run_id, ticket.fence), None) for ticket in tickets]
