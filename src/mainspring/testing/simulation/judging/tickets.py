"""What is asked of tickets: one per fence, time for whoever gets it, and an answer before it is thrown away."""

from collections.abc import Sequence
from datetime import datetime

from mainspring.domain.ids import Fence, RunId
from mainspring.domain.run import Attempt
from mainspring.domain.ticket import Ticket
from mainspring.testing.simulation.history import Applied
from mainspring.testing.simulation.judging.run_model import Object


class TicketJudge:
    """Follows each ticket from the store through the broker and back."""

    def __init__(self, object_: Object) -> None:
        self._object = object_
        self._taken: dict[tuple[RunId, Fence], tuple[datetime, datetime]] = {}
        """When each was given out, and until when claims leave its run alone."""
        self._asked_for: set[tuple[str, RunId, Fence]] = set()
        """Who has asked the store to start what."""

    def taken(self, event: Applied) -> None:
        """Tickets were given out."""
        _, _, grace = event.arguments
        for ticket in event.answer:
            if (ticket.run_id, ticket.fence) in self._taken:
                self._object("tickets", f"{_name(ticket)} was given out a second time")
            self._taken[ticket.run_id, ticket.fence] = event.now, event.now + grace

    def believed(self, event: Applied) -> None:
        """Somebody publishes what another has taken, or nobody."""
        [ticket] = event.arguments
        self._object("tickets", f"somebody was given {_name(ticket)}, and it wasn't his")

    def claimed(self, attempts: Sequence[Attempt], now: datetime) -> None:
        """Runs were handed over to somebody who had no ticket."""
        for attempt in attempts:
            _, until = self._taken.get(_ticket_of(attempt), (now, now))
            if now < until:
                self._object("tickets", f"{attempt.run_id.hex[-6:]} was claimed at {now}, in a grace until {until}")

    def asked_for(self, event: Applied, tickets: Sequence[Ticket]) -> None:
        """The store has answered whoever had them."""
        self._asked_for.update((event.process, ticket.run_id, ticket.fence) for ticket in tickets)

    def acknowledged(self, event: Applied) -> None:
        """The broker may forget them."""
        [tickets] = event.arguments
        for ticket in tickets:
            if (event.process, ticket.run_id, ticket.fence) not in self._asked_for:
                self._object("tickets", f"{_name(ticket)} was acknowledged before the store had answered for it")

    def taken_at(self, attempt: Attempt) -> datetime | None:
        """When the ticket was given out by which a run was started."""
        taken_at, _ = self._taken.get(_ticket_of(attempt), (None, None))
        return taken_at


def _ticket_of(attempt: Attempt) -> tuple[RunId, Fence]:
    return attempt.run_id, Fence(attempt.fence - 1)


def _name(ticket: Ticket) -> str:
    return f"the ticket {ticket.run_id.hex[-6:]}/{ticket.fence}"
