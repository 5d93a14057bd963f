"""Which shards of a lane a worker looks at first, so that workers rarely meet at one partition."""

from mainspring.adapters.cassandra.context import Context
from mainspring.adapters.cassandra.layout import SHARDS
from mainspring.adapters.cassandra.members import listed_members
from mainspring.domain.ids import Lane, SessionId
from mainspring.domain.rendezvous import shares
from mainspring.ports.sessions import Role

_LOOK = 1.0
"""Seconds for which a look at the members is good."""


class Shares:
    """The shards of each worker, by rendezvous among those that serve the lane, and as many for each.

    Nothing but speed depends on it: whoever has less to do than others goes to theirs, where they get in each other's
    way.
    """

    def __init__(self, context: Context) -> None:
        self._context = context
        self._looked_at: float | None = None
        self._members: dict[SessionId, frozenset[Lane]] = {}
        self._shards: dict[tuple[SessionId, Lane], frozenset[int]] = {}

    async def shards(self, session: SessionId, lane: Lane) -> frozenset[int]:
        """The shards of *lane* that are *session*'s own."""
        await self._look()
        found = self._shards.get((session, lane))
        if found is None:
            members = {str(session)} | {str(each) for each, lanes in self._members.items() if lane in lanes}
            owners = shares([f"work/{lane}/{shard}" for shard in range(SHARDS)], members)
            found = frozenset(shard for shard in range(SHARDS) if owners[f"work/{lane}/{shard}"] == str(session))
            self._shards[session, lane] = found
        return found

    async def _look(self) -> None:
        moment = self._context.clock.monotonic()
        if self._looked_at is not None and moment - self._looked_at < _LOOK:
            return
        members = {member.id: frozenset(member.lanes) for member in await listed_members(self._context, Role.WORKER)}
        self._looked_at = moment
        if members != self._members:
            self._members = members
            self._shards.clear()
