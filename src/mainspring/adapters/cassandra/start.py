"""Starting what tickets name: the intent first, then one conditional batch per home.

What a ticket says is compared with the run's own mark. Whether the run is due was decided by the clock of whoever gave
the ticket out, as any claim is by its own: a worker whose clock is a little behind would refuse all that is urgent.
"""

import asyncio
from collections import defaultdict
from collections.abc import Iterable, Sequence
from uuid import UUID

from mainspring.adapters.cassandra.abreast import abreast
from mainspring.adapters.cassandra.claim import noted
from mainspring.adapters.cassandra.context import Context
from mainspring.adapters.cassandra.hand_over import Handed, Holder, hand_over
from mainspring.adapters.cassandra.intents import Intents
from mainspring.adapters.cassandra.layout import home_of, micros
from mainspring.adapters.cassandra.records import attempt_of
from mainspring.adapters.cassandra.rows import Row
from mainspring.adapters.cassandra.runs import Home, read
from mainspring.adapters.cassandra.session_rows import living
from mainspring.adapters.cassandra.values import identity, text
from mainspring.domain.ids import SessionId
from mainspring.domain.run import Attempt, State
from mainspring.domain.ticket import Ticket
from mainspring.errors import SessionLost


async def start(
    context: Context, intents: Intents, by: SessionId, tickets: Sequence[Ticket]
) -> Sequence[Attempt | None]:
    """Hand over what still waits as its ticket says. What was handed over is told, whatever failed beside it."""
    session, rows = await asyncio.gather(living(context, by), read(context, [ticket.run_id for ticket in tickets]))
    if session is None:
        intents.forget(by)
        raise SessionLost(f"session {by} has ended")
    current: dict[UUID, Ticket] = {
        ticket.run_id: ticket for ticket in tickets if _is_current(ticket, rows.get(ticket.run_id))
    }
    holder = Holder(by, text(session, "name"))
    handed = await _hand_over(context, intents, holder, [rows[run_id] for run_id in current])
    won = _won(handed)
    failures = [each.failure for each in handed if each.failure is not None]
    if failures and not won:
        raise failures[0]
    # How long it has waited is told by when it was to start.
    waited = [{**row, "wake_at": micros(current[identity(row, "id")].wake_at)} for row in won]
    context.ledger.note_soon([noted(row) for row in waited])
    await intents.merge()
    return _answers(tickets, won)


def _is_current(ticket: Ticket, row: Row | None) -> bool:
    """Nothing but the fence is believed, and that only if such a ticket was given out."""
    return row is not None and row["state"] == State.WAITING and row["fence"] == row["ticket"] == ticket.fence


async def _hand_over(context: Context, intents: Intents, holder: Holder, rows: Sequence[Row]) -> Sequence[Handed]:
    """What came of each home; what may be handed over is written down before."""
    if not rows:
        return ()
    homes: defaultdict[Home, list[Row]] = defaultdict(list)
    for row in rows:
        homes[home_of(identity(row, "id"))].append(row)

    async def of_home(home: Home) -> Handed:
        return await hand_over(context, home, homes[home], holder, context.now())

    intent = await intents.announce(holder.session, [identity(row, "id") for row in rows])
    handed: Sequence[Handed] = ()
    doubtful = True
    try:
        handed = await abreast(of_home, [*homes])
        doubtful = any(each.failure for each in handed)
    finally:
        intents.held(holder.session, intent, _won(handed), doubtful=doubtful)
    return handed


def _won(handed: Iterable[Handed]) -> Sequence[Row]:
    return [row for each in handed for row in each.won]


def _answers(tickets: Sequence[Ticket], won: Sequence[Row]) -> Sequence[Attempt | None]:
    """Of a ticket that is there twice, the first starts the run."""
    left = {(attempt.run_id, attempt.fence - 1): attempt for attempt in map(attempt_of, won)}
    return [left.pop((ticket.run_id, ticket.fence), None) for ticket in tickets]
