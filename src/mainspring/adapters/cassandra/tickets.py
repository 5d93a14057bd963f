"""The Tickets port: due runs are marked and named to a broker, and started by what it brings."""

from collections.abc import Sequence
from datetime import timedelta

from mainspring.adapters.cassandra.context import Context
from mainspring.adapters.cassandra.intents import Intents
from mainspring.adapters.cassandra.start import start
from mainspring.adapters.cassandra.take import Takes
from mainspring.adapters.cassandra.waits import Waits
from mainspring.domain.ids import Lane, SessionId
from mainspring.domain.run import Attempt
from mainspring.domain.ticket import Ticket


class CassandraTickets:
    """A run whose `ticket` is its fence has a ticket out; `indexed_at` is when claims may have it, `wake_at` as it was.

    Whatever raises the fence makes the ticket worthless and room for another, and needn't know of tickets.
    """

    def __init__(self, context: Context, intents: Intents, waits: Waits) -> None:
        self._context = context
        self._intents = intents
        self._waits = waits
        self._takes = Takes(context)

    async def take(self, lanes: Sequence[Lane], limit: int, grace: timedelta) -> Sequence[Ticket]:
        """Take due runs that nobody has a ticket of."""
        self._waits.forget()
        return await self._takes.take(lanes, limit, grace)

    async def start(self, by: SessionId, tickets: Sequence[Ticket]) -> Sequence[Attempt | None]:
        """Hand over what still waits as its ticket says."""
        self._waits.forget()
        return await start(self._context, self._intents, by, tickets) if tickets else []
