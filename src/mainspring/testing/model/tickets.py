"""Tickets of runs, and starting what they name."""

from collections.abc import Sequence
from datetime import timedelta

from mainspring.domain.ids import Lane, SessionId
from mainspring.domain.run import Attempt, State
from mainspring.domain.ticket import Ticket
from mainspring.testing.model.tables import Tables
from mainspring.testing.model.work import hand_over, holder, ready


class MemoryTickets:
    """The `Tickets` port."""

    def __init__(self, tables: Tables) -> None:
        self._tables = tables

    async def take(self, lanes: Sequence[Lane], limit: int, grace: timedelta) -> Sequence[Ticket]:
        """Lane by lane; one per run and fence."""
        tables = self._tables
        taken: list[Ticket] = []
        for run in [run for lane in dict.fromkeys(lanes) for run in ready(tables, lane)]:
            fence, _ = tables.tickets.get(run.id, (None, None))
            if len(taken) < limit and fence != run.fence and run.wake_at is not None:
                tables.tickets[run.id] = run.fence, tables.now() + grace
                taken.append(
                    Ticket(
                        run_id=run.id,
                        fence=run.fence,
                        lane=run.task.lane,
                        priority=run.task.priority,
                        wake_at=run.wake_at,
                    )
                )
                if not tables.keeps_wake_times:
                    tables.change(run, wake_at=tables.now())
        return taken

    async def start(self, by: SessionId, tickets: Sequence[Ticket]) -> Sequence[Attempt | None]:
        """One after the other."""
        name = holder(self._tables, by)
        return [self._start(ticket, by, name) for ticket in tickets]

    def _start(self, ticket: Ticket, by: SessionId, name: str) -> Attempt | None:
        run = self._tables.runs.get(ticket.run_id)
        if run is None or run.state is not State.WAITING or run.fence != ticket.fence:
            return None
        fence, _ = self._tables.tickets.get(run.id, (None, None))
        now = self._tables.now()
        if fence != run.fence or run.wake_at is None or run.wake_at > now:
            return None
        return hand_over(self._tables, run, by, name, min(ticket.wake_at, now))
