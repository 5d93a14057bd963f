"""Seizing what a claim has chosen: the intent first, then what it names, each home at its own pace.

Runs go by the numbers of their ids here: hashing a UUID costs five times as much.
"""

import asyncio
from collections import defaultdict
from collections.abc import Awaitable, Mapping, Sequence
from dataclasses import dataclass

from mainspring.adapters.cassandra.context import Context
from mainspring.adapters.cassandra.copies import DOUBTFUL, copy_of
from mainspring.adapters.cassandra.due import Entry, Lead, lead
from mainspring.adapters.cassandra.hand_over import Handed, Holder, hand_over
from mainspring.adapters.cassandra.intents import Intents
from mainspring.adapters.cassandra.layout import home_of
from mainspring.adapters.cassandra.rows import Row
from mainspring.adapters.cassandra.runs import Home, read_at
from mainspring.adapters.cassandra.values import identity, number
from mainspring.errors import StoreUnavailable


@dataclass(frozen=True, slots=True)
class Seized:
    """What came of it."""

    won: Sequence[Row]
    """The runs that the session now holds, in the order of their entries."""
    gone: Sequence[Entry]
    """Entries that needn't be looked at again."""
    failure: StoreUnavailable | None
    """Why more than this may have been won."""


async def seize(
    context: Context, intents: Intents, holder: Holder, chosen: Sequence[Entry], known: Mapping[int, Row]
) -> Seized:
    """Hand over those of *chosen* that lead to a run that waits; first write down which they are.

    Rows that are *known* aren't read again. A run that waits under the same fence is as it was: what has changed since,
    the batch refuses.
    """
    homes: defaultdict[Home, list[Entry]] = defaultdict(list)
    for entry in chosen:
        homes[home_of(entry.id)].append(entry)
    announced = asyncio.ensure_future(intents.announce(holder.session, [entry.id for entry in chosen]))
    won: dict[int, Row] = {}
    doubtful = True
    try:
        taken = await asyncio.gather(
            *(
                _take(context, home, entries, holder, known=known, announced=announced)
                for home, entries in homes.items()
            )
        )
        await announced
        won = {identity(row, "id").int: row for each in taken for row in each.handed.won}
        doubtful = any(each.handed.failure for each in taken)
    finally:
        _conclude(intents, holder, announced, won, doubtful=doubtful)
    failures = [each.failure for each in taken if each.failure is not None]
    return Seized(
        won=[won[run] for run in dict.fromkeys([entry.id.int for entry in chosen]) if run in won],
        gone=[entry for each in taken for entry in each.gone],
        failure=failures[0] if failures else None,
    )


@dataclass(frozen=True, slots=True)
class _Taken:
    """What came of the entries of one home."""

    handed: Handed
    gone: Sequence[Entry] = ()
    unread: StoreUnavailable | None = None

    @property
    def failure(self) -> StoreUnavailable | None:
        return self.unread or self.handed.failure

    def joined(self, later: "_Taken") -> "_Taken":
        """Both together; of this one, nothing has failed."""
        handed = Handed([*self.handed.won, *later.handed.won], later.handed.lost, later.handed.failure)
        return _Taken(handed, [*self.gone, *later.gone], later.unread)


async def _take(
    context: Context,
    home: Home,
    entries: Sequence[Entry],
    holder: Holder,
    *,
    known: Mapping[int, Row],
    announced: Awaitable[int],
) -> _Taken:
    """Hand over by the copies that entries carry; what has none, or was refused, by the rows that are there."""
    unread = [entry for entry in entries if entry.copy is not None and entry.id.int not in known]
    copied = await _take_copied(context, home, unread, holder, announced) if unread else _Taken(Handed())
    won = {identity(row, "id").int for row in copied.handed.won}
    rest = [entry for entry in entries if entry.id.int not in won] if won else entries
    if not rest or copied.failure is not None:
        return copied
    return copied.joined(await _take_read(context, home, rest, holder, known=known, announced=announced))


async def _take_copied(
    context: Context, home: Home, entries: Sequence[Entry], holder: Holder, announced: Awaitable[int]
) -> _Taken:
    """Drops only what was won: whatever is refused may lie ahead, as what is stored right now does."""
    await announced  # whatever becomes of the batch, what it may hand over is known before it leaves
    now = context.now()
    copies = [copy for entry in entries if entry.since <= now and (copy := copy_of(entry)) is not None]
    handed = await hand_over(context, home, copies, holder, now, doubtful=DOUBTFUL)
    won = {identity(row, "id").int for row in handed.won}
    return _Taken(handed, [entry for entry in entries if entry.id.int in won])


async def _take_read(
    context: Context,
    home: Home,
    entries: Sequence[Entry],
    holder: Holder,
    *,
    known: Mapping[int, Row],
    announced: Awaitable[int],
) -> _Taken:
    rows = {entry.id.int: known[entry.id.int] for entry in entries if entry.id.int in known} if known else {}
    unread = {entry.id.int: entry.id for entry in entries if entry.id.int not in rows}
    try:
        rows |= {identity(row, "id").int: row for row in await read_at(context, home, unread.values())}
    except StoreUnavailable as failure:
        return _Taken(Handed(), unread=failure)
    await announced
    now = context.now()
    leads = [(entry, _lead(entry, rows, now)) for entry in entries]
    ready = [rows[entry.id.int] for entry, leads_to in leads if leads_to is Lead.READY]
    handed = await hand_over(context, home, ready, holder, now)
    moved_on = {*[run_id.int for run_id in handed.lost], *[identity(row, "id").int for row in handed.won]}
    gone = [
        entry
        for entry, leads_to in leads
        # Not what lies ahead: a row that is out of date may be lost while the next entry of its run counts already.
        if leads_to is Lead.NOWHERE or (leads_to is Lead.READY and entry.id.int in moved_on)
    ]
    return _Taken(handed, gone)


def _lead(entry: Entry, rows: Mapping[int, Row], now: int) -> Lead:
    """Where *entry* leads right now: to a run that is ready, the batch may be sent."""
    row = rows.get(entry.id.int)
    leads = lead(entry, row, now)
    if leads is not Lead.READY or row is None:
        return leads
    if row["wake_at"] is None:
        return Lead.NOWHERE
    if number(row, "wake_at") <= now:
        return Lead.READY
    # Of two processes that stored one run, the later one's time counts, and its entry is still to come. But if this is
    # that entry, our clock was set back since the shelf was looked at.
    return Lead.AHEAD if entry.wake_at >= number(row, "wake_at") else Lead.NOWHERE


def _conclude(
    intents: Intents, holder: Holder, announced: "asyncio.Future[int]", won: Mapping[int, Row], *, doubtful: bool
) -> None:
    """An intent that wasn't written stands for nothing; whoever gives up on this gives up on writing it, too."""
    if announced.cancel() or announced.cancelled() or announced.exception() is not None:
        return
    intents.held(holder.session, announced.result(), won.values(), doubtful=doubtful)
