"""The Sessions port on PostgreSQL."""

from collections.abc import Mapping, Sequence

from mainspring.adapters.postgres.engine import Engine, Purpose
from mainspring.adapters.postgres.rows import Row, attempt_from
from mainspring.adapters.postgres.statements import load
from mainspring.domain.ids import Fence, Lane, RunId, SessionId
from mainspring.domain.run import Attempt
from mainspring.ports.sessions import Heard, Member, News, NewSession, Role

_SQL = load("sessions")


class PostgresSessions:
    """One row per process life; runs name the session that holds them."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    async def open(self, session: NewSession) -> SessionId:
        """Begin a session."""
        names = sorted(session.handlers)  # one order for all: processes that start together don't wait in a circle
        number = await self._engine.value(
            _SQL["open"],
            session.role,
            session.name,
            session.host,
            session.pid,
            session.capacity,
            sorted(set(session.handlers.values())),
            session.ttl,
            names,
            [session.handlers[name] for name in names],
        )
        return SessionId(number)

    async def beat(self, by: SessionId, news: News) -> Heard | None:
        """Extend the session and say what it holds."""
        rows = await self._engine.fetch(_SQL["beat"], by, news.executing, news.clock, purpose=Purpose.CLAIM)
        if not rows:
            return None
        runs = [(RunId(run), Fence(fence), cancelling) for run, fence, cancelling in rows if run is not None]
        return Heard(
            held={run: fence for run, fence, _ in runs},
            cancelling=frozenset(run for run, _, cancelling in runs if cancelling),
        )

    async def close(self, by: SessionId, *, rescued: int = 0) -> None:  # noqa: ARG002 - nobody asked then
        """End the session at once."""
        await self._engine.execute(_SQL["close"], by, purpose=Purpose.READ)

    async def live(self, role: Role) -> Sequence[Member]:
        """Sessions whose time isn't up, by name."""
        rows = await self._engine.fetch(_SQL["live"], role, purpose=Purpose.READ)
        return [_member_from(row) for row in rows]

    async def bury(self, limit: int) -> Mapping[SessionId, int]:
        """End sessions whose time is up; return ended ones that may still hold runs."""
        await self._engine.execute(_SQL["bury"], limit, purpose=Purpose.READ)
        rows = await self._engine.fetch(_SQL["ended_with_runs"], limit, purpose=Purpose.READ)
        return {SessionId(number): 0 for (number,) in rows}

    async def held(self, session: SessionId, limit: int) -> Sequence[Attempt]:
        """Runs that the session holds."""
        rows = await self._engine.fetch(_SQL["held"], session, limit, purpose=Purpose.READ)
        return [attempt_from(row) for row in rows]

    async def overdue(self, limit: int) -> Sequence[Attempt]:
        """Runs in anybody's hands past their backstop."""
        rows = await self._engine.fetch(_SQL["overdue"], limit, purpose=Purpose.READ)
        return [attempt_from(row) for row in rows]

    async def audit(self) -> int:
        """Nothing to repair: indexes and rows change together."""
        return 0


def _member_from(row: Row) -> Member:
    number, role, name, host, pid, capacity, executing, lanes, opened_at, beat_at, skew = row
    return Member(
        id=SessionId(number),
        role=Role(role),
        name=name,
        host=host,
        pid=pid,
        capacity=capacity,
        executing=executing,
        lanes=[Lane(lane) for lane in lanes],
        opened_at=opened_at,
        beat_at=beat_at,
        skew=skew,
    )
