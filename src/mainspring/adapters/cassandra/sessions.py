"""The Sessions port: who lives is decided by compare-and-set; what each holds is read where it lies."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import islice

from mainspring.adapters.cassandra.abreast import abreast
from mainspring.adapters.cassandra.auditing import audit
from mainspring.adapters.cassandra.context import Context
from mainspring.adapters.cassandra.intents import intended
from mainspring.adapters.cassandra.layout import EVERYTHING, SHARDS, TRAIL, micros, span_of
from mainspring.adapters.cassandra.members import MOST_SESSIONS, listed_members
from mainspring.adapters.cassandra.records import attempt_of
from mainspring.adapters.cassandra.rows import Put, Row, Value, only
from mainspring.adapters.cassandra.runs import read
from mainspring.adapters.cassandra.session_rows import ALIVE, ENDED, change_session, entry_of, session_row
from mainspring.adapters.cassandra.tables import CLAIM_INTENT, HANDLER, SESSION, SESSION_OF
from mainspring.adapters.cassandra.values import number
from mainspring.domain.ids import Fence, RunId, SessionId
from mainspring.domain.run import Attempt, State
from mainspring.ports.sessions import Heard, Member, News, NewSession, Role

_ID_BITS = 62


@dataclass(frozen=True, slots=True)
class _End:
    """When a session ended, and how many runs it held then: the last that its row says to be `executing`."""

    at: int
    held: int | None
    """None if the session was forgotten, and what the auditor found of it is all that is known."""


class CassandraSessions:
    """The `Sessions` port."""

    def __init__(self, context: Context) -> None:
        self._context = context

    async def open(self, session: NewSession) -> SessionId:
        """Under a random id, listed first."""
        row = _opened(session, self._context.random.bits(_ID_BITS), self._context.now())
        handlers: list[Row] = [
            {"everything": EVERYTHING, "name": name, "lane": lane} for name, lane in session.handlers.items()
        ]
        await self._context.rows.put([entry_of(row), *(Put(table=HANDLER, row=handler) for handler in handlers)])
        await self._context.rows.put([Put(table=SESSION, row=row, original=True)])
        return SessionId(number(row, "id"))

    async def beat(self, by: SessionId, news: News) -> Heard | None:
        """One compare-and-set, then a read of what the session may hold; once more if a wish came in between."""
        row = await session_row(self._context, by)
        while row is not None and row["state"] == ALIVE:
            seen: Row = {"state": ALIVE, "draining": row["draining"]}
            if await change_session(self._context, row, self._beaten(row, news), expected=seen):
                return await self._heard(by, draining=bool(row["draining"]))
            row = await session_row(self._context, by, settled=True)
        return None

    async def close(self, by: SessionId, *, rescued: int = 0) -> None:
        """At once, and for good."""
        now, held = self._context.now(), rescued + len(await self._held(by, settled=True))
        await self._change_living(by, {"state": ENDED, "ended_at": now, "expires_at": now, "executing": held})

    async def drain(self, session: SessionId) -> bool:
        """By compare-and-set: a session that has ended isn't asked for anything."""
        return await self._change_living(session, {"draining": True})

    async def resume(self, session: SessionId) -> bool:
        """Neither draining nor drained."""
        return await self._change_living(session, {"draining": False, "drained": False})

    async def live(self, role: Role) -> Sequence[Member]:
        """As they are listed."""
        return await listed_members(self._context, role)

    async def bury(self, limit: int) -> Mapping[SessionId, int]:
        """First whoever was listed as running out; then look what each of them holds, and forget who holds nothing."""
        now = self._context.now()
        out = [entry for entry in await self._listed() if entry["expires_at"] is None or _is_up(entry, now)]
        ended: dict[SessionId, int] = {}
        for entry in out:
            if len(ended) == limit:
                break
            session = SessionId(number(entry, "id"))
            end = await self._end(session, now)
            if end is None:
                continue
            if held := await self._held(session, settled=True):
                # A claim that was under way when the session ended has brought what nobody had counted.
                ended[session] = max(end.held, len(held)) if end.held is not None else 0
            elif now - end.at >= span_of(TRAIL):
                # Not at once: a claim that was under way when the session ended may only now be there to see.
                await self._forget(entry)
        return ended

    async def held(self, session: SessionId, limit: int) -> Sequence[Attempt]:
        """What the session announced, as far as it has it."""
        return [attempt_of(row) for row in (await self._held(session, settled=True))[:limit]]

    async def overdue(self, limit: int) -> Sequence[Attempt]:
        """Past their deadlines among what all sessions hold."""
        now = self._context.now()
        sessions = [SessionId(number(entry, "id")) for entry in await self._listed()]
        held = await abreast(self._held, sessions)
        late = (row for rows in held for row in rows if number(row, "deadline_at") <= now)
        return [attempt_of(row) for row in islice(late, limit)]

    async def audit(self) -> int:
        """The homes whose runs should have woken some minutes ago."""
        return sum(await abreast(lambda shard: audit(self._context, shard), range(SHARDS)))

    def _beaten(self, row: Row, news: News) -> Row:
        now = self._context.now()
        return {
            "beat_at": now,
            "expires_at": now + number(row, "ttl"),
            "executing": news.executing,
            "skew": 0 if news.clock is None else micros(news.clock) - now,
            "drained": bool(row["draining"]) and news.drained,
            "trouble": news.trouble or "",
        }

    async def _heard(self, by: SessionId, *, draining: bool) -> Heard:
        held = [attempt_of(row) for row in await self._held(by)]
        return Heard(
            held={RunId(attempt.run_id): Fence(attempt.fence) for attempt in held},
            cancelling=frozenset(attempt.run_id for attempt in held if attempt.cancelling),
            draining=draining,
        )

    async def _change_living(self, session: SessionId, values: Row) -> bool:
        row = await session_row(self._context, session)
        if row is None or row["state"] != ALIVE:
            return False
        return await change_session(self._context, row, values, expected={"state": ALIVE})

    async def _listed(self) -> Sequence[Row]:
        found = await abreast(lambda role: self._context.rows.slice(SESSION_OF, (role,), limit=MOST_SESSIONS), [*Role])
        return [entry for entries in found for entry in entries]

    async def _end(self, session: SessionId, now: int) -> _End | None:
        """The session's end, by this very call if its time is up; None for one that lives."""
        row = await session_row(self._context, session, settled=True)
        if row is None:
            return _End(0, None)
        if row["state"] == ENDED:
            return _End(number(row, "ended_at"), number(row, "executing"))
        if number(row, "expires_at") > now:
            return None
        held = len(await self._held(session, settled=True))
        seen: Row = {"state": ALIVE, "expires_at": row["expires_at"]}
        values: Row = {"state": ENDED, "ended_at": now, "executing": held}
        buried = await change_session(self._context, row, values, expected=seen)
        return _End(now, held) if buried else None

    async def _forget(self, entry: Row) -> None:
        await self._context.rows.delete_range(CLAIM_INTENT, (entry["id"],))
        await self._context.rows.delete_range(SESSION, (entry["id"],))
        await self._context.rows.delete_range(SESSION_OF, (entry["role"],), only((entry["id"],)))

    async def _held(self, session: SessionId, *, settled: bool = False) -> Sequence[Row]:
        """What the session announced and has; unless *settled*, perhaps without what a claim in doubt has brought."""
        rows = await read(self._context, await intended(self._context, session), settled=settled)
        return [row for row in rows.values() if row["session"] == session and row["state"] == State.RUNNING]


def _is_up(entry: Row, now: int) -> bool:
    return number(entry, "expires_at") <= now


def _opened(session: NewSession, identity: int, now: int) -> dict[str, Value]:
    return {
        "id": identity,
        "role": session.role,
        "name": session.name,
        "host": session.host,
        "pid": session.pid,
        "capacity": session.capacity,
        "lanes": json.dumps(sorted(set(session.handlers.values()))),
        "ttl": span_of(session.ttl),
        "opened_at": now,
        "state": ALIVE,
        "beat_at": now,
        "expires_at": now + span_of(session.ttl),
        "executing": 0,
        "skew": 0,
        "draining": session.draining,
        "drained": False,
        "trouble": "",
    }
