"""Handing runs over by way of a broker: taking tickets for publication, and starting what a ticket names."""

from collections.abc import Sequence
from datetime import timedelta
from typing import Protocol

from mainspring.domain.ids import Lane, SessionId
from mainspring.domain.run import Attempt
from mainspring.domain.ticket import Ticket

GRACE = timedelta(seconds=5)
"""How long claims leave a run to whoever gets its ticket: what a lost message costs."""


class Tickets(Protocol):
    """Both verbs are compare-and-sets; a ticket that is lost, repeated or late costs time or a refusal, never a run."""

    async def take(self, lanes: Sequence[Lane], limit: int, grace: timedelta) -> Sequence[Ticket]:
        """Take due runs of *lanes* for publication, in each by priority, then wake time.

        Nobody else gets a ticket of the same run under the same fence, now or later. Claims pass over the run until
        *grace* has ended, and then find it as if there had never been a ticket.
        """
        ...

    async def start(self, by: SessionId, tickets: Sequence[Ticket]) -> Sequence[Attempt | None]:
        """Hand over exactly these runs under new fences, each if it still waits as its ticket says; else None for it.

        Answers in the order of *tickets*. Raises SessionLost for a session that has ended.
        """
        ...
