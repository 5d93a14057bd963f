"""A scheduler process among others: its own session, who else is alive, and what falls to whom."""

import asyncio
from datetime import timedelta

from mainspring.domain.ids import SessionId
from mainspring.domain.rendezvous import owner
from mainspring.errors import SessionLost, StoreError
from mainspring.logs import get_logger
from mainspring.ports.leadership import Leadership
from mainspring.ports.sessions import News, NewSession, Role, Sessions
from mainspring.ports.signals import TIMETABLE, Signals
from mainspring.ports.time import Clock, Random
from mainspring.services.loop import repeat
from mainspring.services.ownership import firing

LOOK = timedelta(milliseconds=500)
"""How long a colleague that has come, or whose time was up, goes unnoticed."""

_log = get_logger(__name__)


class Membership:
    """Keeps one session alive, opens another when it was lost, and closes it at the end.

    With *leadership*, all work is the leader's. Without, or while it doesn't say who leads, the live share it.
    """

    def __init__(
        self,
        sessions: Sessions,
        signals: Signals,
        clock: Clock,
        random: Random,
        *,
        session: NewSession,
        shards: int = 1,
        leadership: Leadership | None = None,
    ) -> None:
        self._sessions = sessions
        self._leadership = leadership
        self._signals = signals
        self._clock = clock
        self._random = random
        self._new = session
        self._shards = shards
        self._id: SessionId | None = None
        self._beat_at = 0.0
        self._members: tuple[str, ...] = ()
        self._leader: str | None = None
        self.opened = asyncio.Event()
        """Set once the first session is open."""

    def owns(self, work: str) -> bool:
        """Whether *work* falls to this process among those that were alive at the last look."""
        return (self._leader or owner(work, self._members)) == self._new.name

    async def step(self) -> timedelta:
        """Be alive, and see who else is."""
        if self._id is None or self._clock.monotonic() >= self._beat_at:
            await self._live_on()
        before = self._fired_here()
        self._members = tuple(member.name for member in await self._sessions.live(Role.SCHEDULER))
        self._leader = await self._elected()
        here = self._fired_here()
        if here != before:
            self._say(len(before), len(here))
            # Whatever waits in shards that nobody fired for a while shouldn't wait for the next poll as well.
            await self._signals.notify((TIMETABLE,))
        return min(LOOK, self._new.ttl / 3)

    async def run(self, stop: asyncio.Event) -> None:
        """Be a member until *stop* is set."""
        try:
            await repeat(
                self.step, stop, service="membership", clock=self._clock, random=self._random, wait=self._clock.sleep
            )
        finally:
            await self._close()

    def _fired_here(self) -> tuple[int, ...]:
        return tuple(shard for shard in range(self._shards) if self.owns(firing(shard)))

    def _say(self, before: int, now: int) -> None:
        """The words that people look for when nothing fires; who leads means nothing to the engine."""
        event = "became leader" if not before else "no longer leader" if not now else "timetable.shared"
        _log.info(event, name=self._new.name, shards=now, of=self._shards)

    async def _elected(self) -> str | None:
        """Who leads. Nobody follows a leader that the store knows nothing of: it may be dead, or another cluster's."""
        if self._leadership is None:
            return None
        leader = await self._leadership.stand(self._new.name, self._new.ttl)
        return leader if leader in self._members else None

    async def _live_on(self) -> None:
        if self._id is not None and not await self._beat(self._id):
            _log.warning("session.lost", session=self._id, name=self._new.name)
            self._id = None
        if self._id is None:
            self._id = await self._sessions.open(self._new)
            self.opened.set()
            _log.info("session.opened", session=self._id, name=self._new.name)
        self._beat_at = self._clock.monotonic() + (self._new.ttl / 3).total_seconds()

    async def _beat(self, session: SessionId) -> bool:
        try:
            return await self._sessions.beat(session, News(clock=self._clock.now())) is not None
        except SessionLost:
            return False

    async def _close(self) -> None:
        """Let others take over at once; if the store can't be told, they will when the session's time is up."""
        if self._id is None:
            return
        session, self._id, self._members, self._leader = self._id, None, (), None
        if self._leadership is not None:
            await self._leadership.resign(self._new.name)
        try:
            await self._sessions.close(session)
        except StoreError as error:
            _log.warning("session.not_closed", session=session, error=repr(error))
        else:
            _log.info("session.closed", session=session, name=self._new.name)
