"""Handing runs over: candidates from the due index, then one conditional batch per home.

Each worker begins with shards of its own, where nobody else competes, and goes to others' only when those gave nothing
(or when it hasn't for a while: a worker that is busy for long must not keep its shards waiting).
"""

import asyncio
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from itertools import chain

from mainspring.adapters.cassandra.choosing import Queues
from mainspring.adapters.cassandra.context import Context
from mainspring.adapters.cassandra.due import Entry, Lead, Minutes, glance, lead, open_minutes
from mainspring.adapters.cassandra.hand_over import Holder
from mainspring.adapters.cassandra.intents import Intents
from mainspring.adapters.cassandra.layout import slot_of
from mainspring.adapters.cassandra.ledger import Noted
from mainspring.adapters.cassandra.records import attempt_of, origin_of
from mainspring.adapters.cassandra.rows import MOST_CHANGES, Row
from mainspring.adapters.cassandra.runs import read
from mainspring.adapters.cassandra.seize import seize
from mainspring.adapters.cassandra.session_rows import living
from mainspring.adapters.cassandra.shares import Shares
from mainspring.adapters.cassandra.shelf import Shelf
from mainspring.adapters.cassandra.values import identity, number, text
from mainspring.adapters.cassandra.waits import Waits
from mainspring.domain.ids import Lane, SessionId
from mainspring.domain.run import Attempt, State
from mainspring.errors import SessionLost, StoreUnavailable
from mainspring.ports.work import Claim

_LOOK_AROUND = 1.0
"""Seconds after which a worker looks at some of others' shards, whatever its own have given."""
_ABREAST = 4
"""Others' shards that are looked at together."""
_LEAST = 32
"""Entries of a shelf that are looked at, however few are wanted."""
_AHEAD = 4
"""How many times more entries are looked at than are wanted, over all shelves; of each, what fills a batch."""
_MOST_LOOKS = 8
"""Looks at a shelf on which others have taken all that was found; the next claim goes on from there."""
_NOTHING = timedelta(0)


@dataclass(slots=True)
class _Claimer:
    """Who claims, and where something may wait."""

    holder: Holder
    minutes: Mapping[Lane, Minutes]
    now: int
    advanced: bool = False
    """Whether there are entries that nobody need look at again."""

    @property
    def here(self) -> int:
        return slot_of(self.now)


class Claims:
    """The claims of this process's sessions."""

    def __init__(self, context: Context, intents: Intents) -> None:
        self._context = context
        self._intents = intents
        self._shares = Shares(context)
        self._shelves: dict[tuple[Lane, int], Shelf] = {}
        self._looked_around_at = float("-inf")
        self._quiet: set[Lane] = set()
        """Lanes of which nothing was ready when they were last looked at."""
        self.waits = Waits(context, self.shelf)

    async def claim(self, by: SessionId, lanes: Sequence[Lane], limit: int) -> Claim:
        """Take the best of each lane in turn. What was handed over is told, whatever fails afterwards."""
        claimer = await self._claimer(by, tuple(dict.fromkeys(lanes)))
        attempts: list[Attempt] = []
        try:
            next_in = await self._fill(claimer, attempts, limit)
        except StoreUnavailable:
            if not attempts:
                raise
            next_in = _NOTHING
        return Claim(attempts=attempts, next_in=next_in)

    async def next_wake(self, lanes: Sequence[Lane]) -> Mapping[Lane, timedelta]:
        """The shortest wait of each lane that has one."""
        now = self._context.now()
        waits = await asyncio.gather(*(self._wait(lane, now) for lane in lanes))
        return {lane: wait for lane, wait in zip(lanes, waits, strict=True) if wait is not None}

    def shelf(self, lane: Lane, shard: int) -> Shelf:
        """What this process knows of a shelf."""
        if (lane, shard) not in self._shelves:
            self._shelves[lane, shard] = Shelf(self._context, lane, shard)
        return self._shelves[lane, shard]

    async def _claimer(self, by: SessionId, lanes: Sequence[Lane]) -> _Claimer:
        now = self._context.now()
        session, minutes = await asyncio.gather(
            living(self._context, by),
            asyncio.gather(*(self._open_minutes(lane, slot_of(now)) for lane in lanes)),
        )
        if session is None:
            self._intents.forget(by)
            raise SessionLost(f"session {by} has ended")
        holder = Holder(by, text(session, "name"))
        return _Claimer(holder, dict(zip(lanes, minutes, strict=True)), self._context.now())

    async def _open_minutes(self, lane: Lane, here: int) -> Minutes:
        """Those of *lane*; a glance is enough where there was nothing to do, and what is to come was told."""
        look = glance if lane in self._quiet else open_minutes
        minutes = await look(self._context, lane, here)
        if minutes.ready(here):
            self._quiet.discard(lane)
        else:
            self._quiet.add(lane)
        return minutes

    async def _fill(self, claimer: _Claimer, attempts: list[Attempt], limit: int) -> timedelta | None:
        """Add what can be had to *attempts*, and return the wait until there may be more."""
        own, others = await self._divided(claimer)
        await self._claim_from(claimer, own, attempts, limit)
        for start in range(0, 0 if attempts else len(others), _ABREAST):
            if len(attempts) < limit:
                await self._claim_from(claimer, others[start : start + _ABREAST], attempts, limit)
        await self._intents.merge()
        # Behind entries that lead nowhere there may be others that wait: whoever was killed has cleared up nothing.
        unread = claimer.advanced and any(shelf.more for shelf in (*own, *others))
        return _NOTHING if unread or len(attempts) >= limit else await self._next_in(claimer)

    async def _divided(self, claimer: _Claimer) -> tuple[Sequence[Shelf], Sequence[Shelf]]:
        """The shelves that have something, the claimer's own and others', those in no order that others keep, too."""
        moment = self._context.clock.monotonic()
        around = moment - self._looked_around_at >= _LOOK_AROUND
        own: list[Shelf] = []
        others: list[tuple[int, Shelf]] = []
        for lane, minutes in claimer.minutes.items():
            shards = minutes.ready(claimer.here)
            mine = await self._shares.shards(claimer.holder.session, lane) if shards else frozenset[int]()
            for shard in shards:
                if shard in mine:
                    own.append(self.shelf(lane, shard))
                else:
                    others.append((self._context.random.bits(32), self.shelf(lane, shard)))
        shuffled = [shelf for _, shelf in sorted(others, key=lambda other: other[0])]
        if not around:
            return own, shuffled
        self._looked_around_at = moment
        # Only some at a time: workers that all look everywhere take each other's runs away under their hands.
        return own + shuffled[:_ABREAST], shuffled[_ABREAST:]

    async def _claim_from(
        self, claimer: _Claimer, shelves: Sequence[Shelf], attempts: list[Attempt], limit: int
    ) -> None:
        """Try the candidates of *shelves* until there are enough or none."""
        wanted = limit - len(attempts)
        if wanted <= 0 or not shelves:
            return
        ahead = max(_LEAST, _AHEAD * wanted // len(shelves), min(wanted, MOST_CHANGES))
        known: dict[int, Row] = {}
        found = await asyncio.gather(*(self._look(claimer, shelf, ahead, known) for shelf in shelves))
        queues = Queues(chain.from_iterable(found), [*claimer.minutes], wanted)
        while chosen := queues.take(limit - len(attempts)):
            attempts += await self._seize(claimer, chosen, known)
        await asyncio.gather(*(self._clear(claimer, shelf) for shelf in shelves))

    async def _look(self, claimer: _Claimer, shelf: Shelf, want: int, known: dict[int, Row]) -> Sequence[Entry]:
        """Candidates from *shelf*; where others take from it, too, the first are looked up before they are chosen."""
        until = claimer.minutes[shelf.lane].until(shelf.shard, claimer.here)
        for _ in range(_MOST_LOOKS):
            entries = await shelf.look(until, claimer.now, want)
            if not shelf.doubtful or not entries:
                return entries
            gone = await self._gone(claimer, entries[:MOST_CHANGES], known)
            shelf.drop(gone)
            shelf.doubtful = bool(gone)
            if len(gone) < len(entries) or not shelf.more:
                return [entry for entry in entries if entry not in gone]
            want = MOST_CHANGES
        return ()

    async def _gone(self, claimer: _Claimer, entries: Sequence[Entry], known: dict[int, Row]) -> Collection[Entry]:
        """Those of *entries* that lead nowhere; the rows of all of them are *known* then."""
        unread = [entry.id for entry in entries if entry.id.int not in known]
        known |= {run_id.int: row for run_id, row in (await read(self._context, unread)).items()}
        gone = {entry for entry in entries if lead(entry, known.get(entry.id.int), claimer.now) is Lead.NOWHERE}
        claimer.advanced = claimer.advanced or bool(gone)
        return gone

    async def _clear(self, claimer: _Claimer, shelf: Shelf) -> None:
        minutes = claimer.minutes[shelf.lane]
        await shelf.clear(minutes.until(shelf.shard, claimer.here), claimer.now, minutes.known_until)

    async def _seize(self, claimer: _Claimer, chosen: Sequence[Entry], known: Mapping[int, Row]) -> Sequence[Attempt]:
        """Hand over those of *chosen* that lead to a run that waits."""
        seized = await seize(self._context, self._intents, claimer.holder, chosen, known)
        self._drop(seized.gone, {identity(row, "id").int for row in seized.won})
        claimer.advanced = claimer.advanced or bool(seized.gone)
        self._context.ledger.note_soon([noted(row) for row in seized.won])
        if seized.failure is not None and not seized.won:
            raise seized.failure
        return [attempt_of(row) for row in seized.won]

    def _drop(self, entries: Sequence[Entry], won: Collection[int]) -> None:
        gone: defaultdict[tuple[Lane, int], list[Entry]] = defaultdict(list)
        for entry in entries:
            gone[entry.lane, entry.shard].append(entry)
        for (lane, shard), dropped in gone.items():
            shelf = self.shelf(lane, shard)
            shelf.drop(dropped)
            shelf.doubtful = shelf.doubtful or any(entry.id.int not in won for entry in dropped)

    async def _next_in(self, claimer: _Claimer) -> timedelta | None:
        waits = await asyncio.gather(
            *(self.waits.next(lane, minutes, claimer.now) for lane, minutes in claimer.minutes.items())
        )
        return min((wait for wait in waits if wait is not None), default=None)

    async def _wait(self, lane: Lane, now: int) -> timedelta | None:
        minutes = await open_minutes(self._context, lane, slot_of(now))
        shelves = [self.shelf(lane, shard) for shard in minutes.ready(slot_of(now))]
        ready = await asyncio.gather(*(self._waits_on(shelf, minutes, now) for shelf in shelves))
        return _NOTHING if any(ready) else await self.waits.next(lane, minutes, now)

    async def _waits_on(self, shelf: Shelf, minutes: Minutes, now: int) -> bool:
        """Whether a run on *shelf* may start, as far as its first entries tell."""
        until = minutes.until(shelf.shard, slot_of(now))
        entries = await shelf.look(until, now, _LEAST)
        sample = entries[:_LEAST]
        rows = await read(self._context, [entry.id for entry in sample])
        leads = [(entry, lead(entry, rows.get(entry.id), now)) for entry in sample]
        shelf.drop([entry for entry, leads_to in leads if leads_to is Lead.NOWHERE])
        await shelf.clear(until, now, minutes.known_until)
        return len(entries) > len(sample) or any(leads_to is Lead.READY for _, leads_to in leads)


def noted(row: Row) -> Noted:
    """What is told of a run that was handed over."""
    return Noted(
        id=identity(row, "id"),
        job_id=identity(row, "job_id"),
        owner=text(row, "owner"),
        fence=number(row, "fence"),
        state=int(State.RUNNING),
        lane=Lane(text(row, "lane")),
        kind=origin_of(row),
        started=1,
        running=1,
        wait=timedelta(microseconds=number(row, "started_at") - max(number(row, "wake_at"), number(row, "created_at"))),
    )
