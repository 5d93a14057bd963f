"""The Sessions port on SQLite."""

import json
from collections.abc import Mapping, Sequence
from functools import partial

from mainspring.adapters.sqlite.engine import Engine, Transaction
from mainspring.adapters.sqlite.rows import attempt_from, dump, duration, identity, micros, to_instant, to_micros
from mainspring.adapters.sqlite.statements import load
from mainspring.domain.ids import Fence, Lane, RunId, SessionId
from mainspring.domain.run import Attempt
from mainspring.ports.sessions import Heard, Member, News, NewSession, Role

_SQL = load("sessions")


class SqliteSessions:
    """One row per process life; runs name the session that holds them."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    async def open(self, session: NewSession) -> SessionId:
        """Begin a session."""
        return await self._engine.write(partial(_open, session=session))

    async def beat(self, by: SessionId, news: News) -> Heard | None:
        """Extend the session and say what it holds."""
        return await self._engine.write(partial(_beat, by=by, news=news))

    async def close(self, by: SessionId, *, rescued: int = 0) -> None:  # noqa: ARG002 - nobody asked then
        """End the session at once."""
        await self._engine.write(lambda transaction: transaction.execute(_SQL["close"], by, transaction.now))

    async def live(self, role: Role) -> Sequence[Member]:
        """Sessions whose time isn't up, by name."""
        return await self._engine.read(partial(_live, role=role))

    async def bury(self, limit: int) -> Mapping[SessionId, int]:
        """End sessions whose time is up; return ended ones that may still hold runs."""
        return dict.fromkeys(await self._engine.write(partial(_bury, limit=limit)), 0)

    async def held(self, session: SessionId, limit: int) -> Sequence[Attempt]:
        """Runs that the session holds."""
        return await self._engine.read(lambda transaction: _attempts(transaction, "held", session, limit))

    async def overdue(self, limit: int) -> Sequence[Attempt]:
        """Runs in anybody's hands past their backstop."""
        return await self._engine.read(lambda transaction: _attempts(transaction, "overdue", transaction.now, limit))

    async def audit(self) -> int:
        """Nothing to repair: indexes and rows change together."""
        return 0


def _open(transaction: Transaction, session: NewSession) -> SessionId:
    lanes = dump(sorted(set(session.handlers.values())))
    number = transaction.value(
        _SQL["open"],
        session.role,
        session.name,
        session.host,
        session.pid,
        session.capacity,
        lanes,
        micros(session.ttl),
        transaction.now,
    )
    if session.handlers:
        transaction.execute(_SQL["remember_handlers"], dump(list(session.handlers.items())))
    return SessionId(number)


def _beat(transaction: Transaction, by: SessionId, news: News) -> Heard | None:
    skew = 0 if news.clock is None else to_micros(news.clock) - transaction.now
    transaction.execute(_SQL["beat"], by, transaction.now, news.executing, skew)
    if transaction.changes() == 0:
        return None
    rows = json.loads(transaction.value(_SQL["holds"], by))
    runs = [(RunId(identity(digits)), Fence(fence), cancelling) for digits, fence, cancelling in rows]
    return Heard(
        held={run: fence for run, fence, _ in runs},
        cancelling=frozenset(run for run, _, cancelling in runs if cancelling),
    )


def _live(transaction: Transaction, role: Role) -> Sequence[Member]:
    rows = json.loads(transaction.value(_SQL["live"], role, transaction.now))
    return [
        Member(
            id=SessionId(number),
            role=Role(role_),
            name=name,
            host=host,
            pid=pid,
            capacity=capacity,
            executing=executing,
            lanes=[Lane(lane) for lane in json.loads(lanes)],
            opened_at=to_instant(opened_at),
            beat_at=to_instant(beat_at),
            skew=duration(skew),
        )
        for number, role_, name, host, pid, capacity, executing, lanes, opened_at, beat_at, skew in rows
    ]


def _bury(transaction: Transaction, limit: int) -> Sequence[SessionId]:
    transaction.execute(_SQL["bury"], transaction.now, limit)
    return [SessionId(number) for number in json.loads(transaction.value(_SQL["ended_with_runs"], limit))]


def _attempts(transaction: Transaction, statement: str, *values: int) -> Sequence[Attempt]:
    return [attempt_from(row) for row in json.loads(transaction.value(_SQL[statement], *values))]
