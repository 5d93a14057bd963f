"""Ports that hand everything on as it is: what is wrapped around a port changes only what it is there for."""

from collections.abc import Mapping, Sequence
from datetime import timedelta

from mainspring.domain.ids import JobId, Lane, RunId, SessionId
from mainspring.domain.job import Job, NewJob
from mainspring.domain.outcome import Settled, Verdict
from mainspring.domain.plan import Advance, Skip
from mainspring.domain.run import Attempt, NewRun
from mainspring.ports.sessions import Heard, Member, News, NewSession, Role, Sessions
from mainspring.ports.timetable import Due, Timetable
from mainspring.ports.work import Added, Claim, Note, Order, Steered, Work


class ForwardingWork:
    """`Work` as it is."""

    def __init__(self, work: Work) -> None:
        self._work = work

    async def add(
        self, items: Sequence[NewRun | NewJob], *, together: bool = False, note: Note | None = None
    ) -> Sequence[Added]:
        """As `Work.add`."""
        return await self._work.add(items, together=together, note=note)

    async def claim(self, by: SessionId, lanes: Sequence[Lane], limit: int) -> Claim:
        """As `Work.claim`."""
        return await self._work.claim(by, lanes, limit)

    async def settle(self, verdicts: Sequence[Verdict]) -> Sequence[Settled]:
        """As `Work.settle`."""
        return await self._work.settle(verdicts)

    async def steer(self, run: RunId, order: Order) -> Steered:
        """As `Work.steer`."""
        return await self._work.steer(run, order)

    async def discard(self, runs: Sequence[RunId]) -> Sequence[bool]:
        """As `Work.discard`."""
        return await self._work.discard(runs)

    async def hide(self, job: JobId) -> bool:
        """As `Work.hide`."""
        return await self._work.hide(job)

    async def next_wake(self, lanes: Sequence[Lane]) -> Mapping[Lane, timedelta]:
        """As `Work.next_wake`."""
        return await self._work.next_wake(lanes)


class ForwardingSessions:
    """`Sessions` as it is."""

    def __init__(self, sessions: Sessions) -> None:
        self._sessions = sessions

    async def open(self, session: NewSession) -> SessionId:
        """As `Sessions.open`."""
        return await self._sessions.open(session)

    async def beat(self, by: SessionId, news: News) -> Heard | None:
        """As `Sessions.beat`."""
        return await self._sessions.beat(by, news)

    async def close(self, by: SessionId, *, rescued: int = 0) -> None:
        """As `Sessions.close`."""
        await self._sessions.close(by, rescued=rescued)

    async def drain(self, session: SessionId) -> bool:
        """As `Sessions.drain`."""
        return await self._sessions.drain(session)

    async def resume(self, session: SessionId) -> bool:
        """As `Sessions.resume`."""
        return await self._sessions.resume(session)

    async def live(self, role: Role) -> Sequence[Member]:
        """As `Sessions.live`."""
        return await self._sessions.live(role)

    async def bury(self, limit: int) -> Mapping[SessionId, int]:
        """As `Sessions.bury`."""
        return await self._sessions.bury(limit)

    async def held(self, session: SessionId, limit: int) -> Sequence[Attempt]:
        """As `Sessions.held`."""
        return await self._sessions.held(session, limit)

    async def overdue(self, limit: int) -> Sequence[Attempt]:
        """As `Sessions.overdue`."""
        return await self._sessions.overdue(limit)

    async def audit(self) -> int:
        """As `Sessions.audit`."""
        return await self._sessions.audit()


class ForwardingTimetable:
    """`Timetable` as it is."""

    def __init__(self, timetable: Timetable) -> None:
        self._timetable = timetable

    async def save(self, job: Job, expected: Job, skips: Sequence[Skip] = ()) -> Job:
        """As `Timetable.save`."""
        return await self._timetable.save(job, expected, skips)

    async def due(self, limit: int, shards: frozenset[int] | None = None) -> Due:
        """As `Timetable.due`."""
        return await self._timetable.due(limit, shards)

    async def fire(self, advances: Sequence[Advance]) -> Sequence[bool]:
        """As `Timetable.fire`."""
        return await self._timetable.fire(advances)
