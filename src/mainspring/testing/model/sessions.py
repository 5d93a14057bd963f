"""Sessions: kept alive by beats, ended by a close or a burial, never revived."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import timedelta
from itertools import islice

from mainspring.domain.ids import SessionId
from mainspring.domain.run import Attempt, State
from mainspring.ports.sessions import Heard, Member, News, NewSession, Role
from mainspring.testing.model.tables import Session, Tables
from mainspring.testing.model.work import attempt_of


class MemorySessions:
    """The `Sessions` port."""

    def __init__(self, tables: Tables) -> None:
        self._tables = tables

    async def open(self, session: NewSession) -> SessionId:
        """Ids grow."""
        now = self._tables.now()
        identity = SessionId(next(self._tables.session_ids))
        member = Member(
            id=identity,
            role=session.role,
            name=session.name,
            host=session.host,
            pid=session.pid,
            capacity=session.capacity,
            executing=0,
            lanes=sorted(set(session.handlers.values())),
            opened_at=now,
            beat_at=now,
            skew=timedelta(0),
            draining=session.draining,
        )
        self._tables.sessions[identity] = Session(new=session, member=member, expires_at=now + session.ttl)
        self._tables.handlers.update(session.handlers)
        return identity

    async def beat(self, by: SessionId, news: News) -> Heard | None:
        """A session whose time is up lives on if its beat comes before its burial."""
        session = self._tables.sessions.get(by)
        now = self._tables.now()
        if session is None or session.ended:
            return None
        skew = news.clock - now if news.clock else timedelta(0)
        drained = session.member.draining and news.drained
        told = replace(session.member, executing=news.executing, drained=drained, trouble=news.trouble)
        session.member = replace(told, beat_at=now, skew=skew)
        session.expires_at = now + session.new.ttl
        attempts = self._attempts(by)
        return Heard(
            held={attempt.run_id: attempt.fence for attempt in attempts},
            cancelling=frozenset(attempt.run_id for attempt in attempts if attempt.cancelling),
            draining=session.member.draining,
        )

    async def close(self, by: SessionId, *, rescued: int = 0) -> None:
        """At once, and for good."""
        session = self._tables.sessions.get(by)
        if session is not None and not session.ended:
            session.expires_at = self._tables.now()
            self._end(by, session)
            session.held += rescued

    async def drain(self, session: SessionId) -> bool:
        """Drained only once it says so."""
        return self._wish(session, draining=True)

    async def resume(self, session: SessionId) -> bool:
        """Neither draining nor drained."""
        return self._wish(session, draining=False)

    async def live(self, role: Role) -> Sequence[Member]:
        """By name, then by age."""
        members = [
            session.member
            for session in self._tables.sessions.values()
            if session.member.role is role and not session.ended and session.expires_at > self._tables.now()
        ]
        return sorted(members, key=lambda member: (member.name, member.id))

    async def bury(self, limit: int) -> Mapping[SessionId, int]:
        """All of them at once."""
        for key, session in self._tables.sessions.items():
            if not session.ended and session.expires_at <= self._tables.now():
                self._end(key, session)
        holding = set(self._tables.holders.values())
        ended = ((key, session.held) for key, session in self._tables.sessions.items() if session.ended)
        return dict(islice(((key, held) for key, held in ended if key in holding), limit))

    async def held(self, session: SessionId, limit: int) -> Sequence[Attempt]:
        """Exactly what it holds."""
        return self._attempts(session)[:limit]

    async def overdue(self, limit: int) -> Sequence[Attempt]:
        """Runs whose wake time, which is the backstop while they run, has passed."""
        now = self._tables.now()
        late = (run for run in self._tables.live() if run.state is State.RUNNING and run.wake_at and run.wake_at <= now)
        return [attempt_of(run, self._tables.holders[run.id]) for run in islice(late, limit)]

    async def audit(self) -> int:
        """There are no indexes."""
        return 0

    def _end(self, identity: SessionId, session: Session) -> None:
        session.ended, session.held = True, len(self._attempts(identity))

    def _wish(self, identity: SessionId, *, draining: bool) -> bool:
        session = self._tables.sessions.get(identity)
        if session is None or session.ended:
            return False
        drained = draining and session.member.drained
        session.member = replace(session.member, draining=draining, drained=drained)
        return True

    def _attempts(self, session: SessionId) -> list[Attempt]:
        held = [run_id for run_id, holder in self._tables.holders.items() if holder == session]
        return [attempt_of(self._tables.runs[run_id], session) for run_id in held]
