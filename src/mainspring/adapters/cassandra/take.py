"""Giving out tickets: entries of due runs, best first; their next entries; then one conditional batch per home.

The batch marks each run with its own fence and compares the mark: nobody gets a second ticket under the same fence, and
a claim that read the run before is refused. The entry under which claims find the run when the grace has ended is
written first. Whoever dies in between leaves an entry too many, or a run whose ticket nobody has: claims find it.
"""

import asyncio
from collections import defaultdict, deque
from collections.abc import Iterable, Mapping, Sequence
from datetime import timedelta
from itertools import chain
from uuid import UUID

from mainspring.adapters.cassandra.abreast import abreast
from mainspring.adapters.cassandra.context import Context
from mainspring.adapters.cassandra.due import Entry, Lead, Minutes, lead, open_minutes
from mainspring.adapters.cassandra.hand_over import Handed, change_waiting
from mainspring.adapters.cassandra.index import of_waiting_run
from mainspring.adapters.cassandra.layout import home_of, instant, slot_of, span_of
from mainspring.adapters.cassandra.rows import MOST_CHANGES, Row
from mainspring.adapters.cassandra.runs import Home, read
from mainspring.adapters.cassandra.untaken import Untaken
from mainspring.adapters.cassandra.values import identity, number, text
from mainspring.domain.ids import Fence, Lane, RunId
from mainspring.domain.ticket import Ticket
from mainspring.errors import StoreUnavailable

_LEAST = 32
"""Entries of a shelf that are looked at, however few are wanted."""
_AHEAD = 4
"""How many times more entries are looked at than are wanted, over all shelves; of each, what fills a batch."""
_MOST_LOOKS = 8
"""Looks at a lane of which others have taken all that was found; whoever takes next goes on from there."""
_TAKER_BITS = 62


class Takes:
    """Takes tickets, and remembers which entries it needn't look at again."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._shelves: dict[tuple[Lane, int], Untaken] = {}

    async def take(self, lanes: Sequence[Lane], limit: int, grace: timedelta) -> Sequence[Ticket]:
        """Lane by lane. What was marked is told, whatever fails afterwards: nobody else will ever tell it."""
        here = slot_of(self._context.now())
        asked = tuple(dict.fromkeys(lanes))
        minutes = await asyncio.gather(*(open_minutes(self._context, lane, here) for lane in asked))
        taken: list[Ticket] = []
        try:
            for lane, open_ in zip(asked, minutes, strict=True):
                if len(taken) < limit:
                    await self._take_from(lane, open_, taken, limit, grace)
        except StoreUnavailable:
            if not taken:
                raise
        return taken

    async def _take_from(self, lane: Lane, minutes: Minutes, taken: list[Ticket], limit: int, grace: timedelta) -> None:
        """Add the best of *lane* to *taken*."""
        now = self._context.now()
        until = {shard: minutes.until(shard, slot_of(now)) for shard in minutes.ready(slot_of(now))}
        shelves = [self._shelf(lane, shard) for shard in until]
        tried: set[Entry] = set()
        for _ in range(_MOST_LOOKS if shelves else 0):
            wanted = limit - len(taken)
            ahead = max(_LEAST, _AHEAD * wanted // len(shelves), min(wanted, MOST_CHANGES))
            found = await asyncio.gather(*(shelf.look(until[shelf.shard], now, ahead) for shelf in shelves))
            fresh = [entry for entry in chain.from_iterable(found) if entry not in tried]
            tried.update(fresh)
            queue = deque(sorted(fresh, key=lambda entry: entry.rank))
            while queue and len(taken) < limit:
                chosen = [queue.popleft() for _ in range(min(limit - len(taken), len(queue)))]
                await self._take(chosen, taken, grace)
            if len(taken) >= limit or not fresh or not any(shelf.more for shelf in shelves):
                break
        await asyncio.gather(*(shelf.clear(until[shelf.shard], now, minutes.known_until) for shelf in shelves))

    async def _take(self, chosen: Sequence[Entry], taken: list[Ticket], grace: timedelta) -> None:
        """Add tickets of those of *chosen* that lead to a run which waits and has none."""
        rows = await read(self._context, [entry.id for entry in chosen])
        now = self._context.now()
        untaken = self._untaken(chosen, rows, now)
        taker = self._context.random.bits(_TAKER_BITS)
        marks = {run_id: _mark(row, taker, now + span_of(grace)) for run_id, row in untaken.items()}
        moved = [
            {**row, **marks[run_id]}
            for run_id, row in untaken.items()
            if marks[run_id]["indexed_at"] != row["indexed_at"]  # or else its entry is there, and mustn't lie
        ]
        await self._context.index([put for row in moved for put in of_waiting_run(row)])
        marked = await self._decide(untaken, marks)
        won = {identity(row, "id") for each in marked for row in each.won}
        taken += [ticket_of(row) for run_id, row in untaken.items() if run_id in won]
        over = won.union(*(each.lost for each in marked))
        # Not what lies ahead of the rows: the next entry of a run may count already.
        self._drop(entry for entry in chosen if entry.id in over and entry.fence == untaken[entry.id]["fence"])
        failures = [each.failure for each in marked if each.failure is not None]
        if failures:
            raise failures[0]

    def _untaken(self, chosen: Sequence[Entry], rows: Mapping[UUID, Row], now: int) -> Mapping[UUID, Row]:
        """The runs that may have a ticket, in the order of *chosen*."""
        untaken: dict[UUID, Row] = {}
        for entry in chosen:
            row = rows.get(entry.id)
            leads = lead(entry, row, now)
            if leads is Lead.NOWHERE or (row is not None and row["ticket"] == entry.fence):
                self._drop([entry])
            elif leads is Lead.READY and row is not None and _awake(row, now):
                untaken[entry.id] = row
        return untaken

    async def _decide(self, untaken: Mapping[UUID, Row], marks: Mapping[UUID, Row]) -> Sequence[Handed]:
        homes: defaultdict[Home, list[Row]] = defaultdict(list)
        for run_id, row in untaken.items():
            homes[home_of(run_id)].append(row)

        async def mark(home: Home) -> Handed:
            return await change_waiting(self._context, home, homes[home], lambda row: marks[identity(row, "id")])

        return await abreast(mark, [*homes])

    def _drop(self, entries: Iterable[Entry]) -> None:
        for entry in entries:
            self._shelf(entry.lane, entry.shard).drop([entry])

    def _shelf(self, lane: Lane, shard: int) -> Untaken:
        if (lane, shard) not in self._shelves:
            self._shelves[lane, shard] = Untaken(self._context, lane, shard)
        return self._shelves[lane, shard]


def _awake(row: Row, now: int) -> bool:
    """Our clock may have been set back since the shelf was looked at."""
    return row["wake_at"] is not None and number(row, "wake_at") <= now


def _mark(row: Row, taker: int, until: int) -> Row:
    """Nobody else writes the same: what is read after a batch without an answer tells whose ticket it is."""
    return {"ticket": row["fence"], "taker": taker, "indexed_at": max(until, number(row, "indexed_at"))}


def ticket_of(row: Row) -> Ticket:
    """What a broker needs to know of a run that waits."""
    return Ticket(
        run_id=RunId(identity(row, "id")),
        fence=Fence(number(row, "fence")),
        lane=Lane(text(row, "lane")),
        priority=number(row, "priority"),
        wake_at=instant(number(row, "wake_at")),
    )
