"""What a session is about to claim, written first: whatever becomes of the claim, what it may hold is known.

An intent is removed once all its runs are settled. The process that claims also settles, so that it knows when: it
merges what is left of many intents into one, and removes all before that by one range. It also remembers the rows that
it was handed, so that settling needs no read.
"""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from uuid import UUID

from mainspring.adapters.cassandra.context import Context
from mainspring.adapters.cassandra.rows import ALL, Put, Row, Span
from mainspring.adapters.cassandra.tables import CLAIM_INTENT
from mainspring.adapters.cassandra.values import content, identity, number
from mainspring.domain.ids import SessionId
from mainspring.errors import StoreUnavailable

_MERGED_EVERY = 1.0
"""Seconds."""
_MANY = 64
_MOST = 10_000
_ID = 16


@dataclass(slots=True)
class _Session:
    """The intents of one session, by number, each with its runs that aren't settled, by the numbers of their ids."""

    merged_at: float
    last: int = 0
    open: dict[int, set[int]] = field(default_factory=dict)
    busy: set[int] = field(default_factory=set)
    """Numbers of claims that are under way: their runs may yet be claimed."""
    merging: bool = False


@dataclass(slots=True)
class _Holding:
    session: SessionId
    intent: int
    row: Row


class Intents:
    """The intents of this process's sessions, and what came of them."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._sessions: dict[SessionId, _Session] = {}
        self._holdings: dict[int, _Holding] = {}

    async def announce(self, session: SessionId, runs: Collection[UUID]) -> int:
        """Write down that *session* may hold *runs* from now on; the number is good for `held`."""
        return await self._announce(session, {run.int for run in runs})

    async def _announce(self, session: SessionId, runs: Collection[int]) -> int:
        known = self._sessions.setdefault(session, _Session(self._context.clock.monotonic()))
        known.last = fresh = max(known.last + 1, self._context.now())
        known.busy.add(fresh)
        known.open[fresh] = set(runs)
        try:
            await self._write(session, fresh, runs)
        except BaseException:
            known.busy.discard(fresh)
            known.open.pop(fresh, None)
            raise
        return fresh

    def held(self, session: SessionId, intent: int, rows: Iterable[Row], *, doubtful: bool) -> None:
        """The claim is over, and brought *rows*; if that is *doubtful*, others of its runs may be held, too."""
        known = self._sessions.get(session)
        if known is None:
            return
        known.busy.discard(intent)
        holdings = {identity(row, "id").int: _Holding(session, intent, row) for row in rows}
        self._holdings |= holdings
        if not doubtful:
            known.open[intent] = set(holdings)

    def row(self, run: UUID, fence: int) -> Row | None:
        """The run as it was handed over under *fence*, if that was here."""
        holding = self._holdings.get(run.int)
        return holding.row if holding is not None and holding.row["fence"] == fence else None

    def settled(self, run: int, fence: int) -> None:
        """Nobody holds the run with that number under *fence* any more; this process may, under a greater one."""
        holding = self._holdings.get(run)
        if holding is not None and number(holding.row, "fence") > fence:
            return
        self._holdings.pop(run, None)
        if holding is None:
            for known in self._sessions.values():
                for runs in known.open.values():
                    runs.discard(run)
        elif holding.session in self._sessions:
            self._sessions[holding.session].open.get(holding.intent, set()).discard(run)

    def forget(self, session: SessionId) -> None:
        """The session has ended; its intents are for whoever buries it."""
        if self._sessions.pop(session, None) is not None:
            self._holdings = {run: each for run, each in self._holdings.items() if each.session != session}

    async def merge(self) -> None:
        """Now and then, put what is left of each session's intents into one. If that fails, they are some more."""
        moment = self._context.clock.monotonic()
        for session, known in list(self._sessions.items()):
            due = len(known.open) >= _MANY or (known.open and moment - known.merged_at >= _MERGED_EVERY)
            if due and not known.merging:
                known.merged_at, known.merging = moment, True
                try:
                    await self._merge(session, known)
                except StoreUnavailable:
                    continue
                finally:
                    known.merging = False

    async def _merge(self, session: SessionId, known: _Session) -> None:
        limit = min(known.busy, default=known.last + 1)
        over = [intent for intent in known.open if intent < limit]
        left = set[int]().union(*(known.open[intent] for intent in over))
        if not over or (len(over) == 1 and left):
            return
        if left:
            merged = await self._announce(session, left)
            known.busy.discard(merged)
            # Some may have been settled while this was written.
            known.open[merged] = set[int]().union(*(known.open[intent] for intent in over))
            for run in known.open[merged]:
                holding = self._holdings.get(run)
                if holding is not None and holding.intent in over:
                    self._holdings[run] = _Holding(session, merged, holding.row)
        await self._context.rows.delete_range(CLAIM_INTENT, (session,), Span(last=(max(over),)))
        for intent in over:
            known.open.pop(intent, None)

    async def _write(self, session: SessionId, intent: int, runs: Collection[int]) -> None:
        packed = b"".join([run.to_bytes(_ID, "big") for run in sorted(runs)])
        row: Row = {"session": session, "number": intent, "runs": packed}
        await self._context.rows.put([Put(table=CLAIM_INTENT, row=row)])


async def intended(context: Context, session: SessionId) -> Sequence[UUID]:
    """All runs that *session* may hold."""
    found: dict[UUID, None] = {}
    span = ALL
    while rows := await context.rows.slice(CLAIM_INTENT, (session,), span, limit=_MOST):
        for row in rows:
            packed = content(row, "runs")
            found |= {UUID(bytes=packed[start : start + _ID]): None for start in range(0, len(packed), _ID)}
        if len(rows) < _MOST:
            break
        span = Span(after=(number(rows[-1], "number"),))
    return sorted(found)
