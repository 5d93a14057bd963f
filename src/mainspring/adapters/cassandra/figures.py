"""Statistics: totals from the ledger, what runs from the sessions, dead letters from their index."""

from collections import Counter
from collections.abc import Mapping

from mainspring.adapters.cassandra.context import Context
from mainspring.adapters.cassandra.holding import running_rows
from mainspring.adapters.cassandra.ledger import Group, Totals
from mainspring.adapters.cassandra.pages import dead_of
from mainspring.adapters.cassandra.runs import read
from mainspring.adapters.cassandra.showing import Showing
from mainspring.adapters.cassandra.totals import read_totals
from mainspring.adapters.cassandra.values import identity, number, text
from mainspring.domain.run import Origin, State
from mainspring.domain.suspects import home_lane
from mainspring.ports.views import Figures, Tally

MOST_RUNNING = 5_000
"""Runs in workers' hands that are looked at one by one; where there are more, the ledger says how many."""
MOST_WORKERS = 1_000
"""Workers that are asked for them."""
MOST_DEAD = 10_000
"""Dead letters that are counted."""

_CHUNK = 500


async def figures(context: Context) -> Figures:
    """What the ledger says, corrected by what is in workers' hands."""
    await context.ledger.written()
    totals = _by_home(await read_totals(context.rows))
    running = await _running(context)
    groups = sorted({*totals, *(running or ())})
    return Figures(
        tallies=[_tally(group, totals.get(group, Totals()), running) for group in groups],
        dead_letters=await _dead(context),
    )


def _tally(group: Group, totals: Totals, running: Mapping[Group, int] | None) -> Tally:
    owner, lane, origin = group
    return Tally(
        owner=owner,
        lane=lane,
        origin=origin,
        added=totals.added,
        started=totals.started,
        retried=totals.retried,
        lost=totals.lost,
        ended=dict(totals.ended),
        waits=totals.waits,
        waited=totals.waited,
        # A process that was killed before it noted a claim leaves the ledger short for ever: it is the second choice.
        running=max(totals.running, 0) if running is None else running.get(group, 0),
    )


async def _running(context: Context) -> Mapping[Group, int] | None:
    rows = await running_rows(context, MOST_RUNNING, workers=MOST_WORKERS)
    if rows is None:
        return None
    return Counter((text(row, "owner"), home_lane(text(row, "lane")), Origin(number(row, "kind"))) for row in rows)


def _by_home(totals: Mapping[Group, Totals]) -> Mapping[Group, Totals]:
    """A suspect counts where it belongs."""
    found: dict[Group, Totals] = {}
    for (owner, lane, origin), counted in totals.items():
        group = owner, home_lane(lane), origin
        found[group] = found.get(group, Totals()).plus(counted)
    return found


async def _dead(context: Context) -> int:
    """Dead letters that nobody has resolved; their entries are written before they die, so each is looked at."""
    look = await dead_of(Showing(context), None)
    counted, before, more = 0, None, True
    while more and counted < MOST_DEAD:
        looked = await look(before, _CHUNK)
        unresolved = [identity(row, "id") for row in looked.rows if not row["resolved"]]
        dead = await read(context, unresolved)
        counted += sum(1 for row in dead.values() if row["state"] == State.DEAD)
        before, more = identity(looked.rows[-1], "id") if looked.rows else None, looked.more
    return counted
