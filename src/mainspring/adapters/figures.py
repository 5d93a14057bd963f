"""From stored totals to figures: what adapters keep as (owner, lane, kind, what, amount), as the port tells it."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from datetime import timedelta
from typing import TypeAlias

from mainspring.domain.ids import Lane
from mainspring.domain.run import Origin, State
from mainspring.domain.suspects import home_lane
from mainspring.ports.views import WAIT_BUCKETS, Tally

Group: TypeAlias = tuple[str, str, int]
"""Owner, lane and kind."""
Total: TypeAlias = tuple[str, str, int, str, int]
"""A group, what happened in it (added, retried, lost, a terminal state, wait/<bucket>, waited), and how often.

What was waited is in microseconds.
"""

_ENDED = {state.name.lower(): state for state in State if state.terminal}


def tallies(totals: Iterable[Total], running: Mapping[Group, int]) -> Sequence[Tally]:
    """One tally for each group that something ever happened in, with what is in workers' hands now.

    A suspect counts where it belongs, wherever it waits.
    """
    amounts: defaultdict[Group, Counter[str]] = defaultdict(Counter)
    for owner, lane, kind, what, amount in totals:
        amounts[owner, home_lane(lane), kind][what] += amount
    in_hand: Counter[Group] = Counter()
    for (owner, lane, kind), amount in running.items():
        in_hand[owner, home_lane(lane), kind] += amount
    return [_tally(group, amounts[group], in_hand[group]) for group in sorted(amounts)]


def _tally(group: Group, amounts: Mapping[str, int], running: int) -> Tally:
    owner, lane, kind = group
    waits = [amounts.get(f"wait/{bucket}", 0) for bucket in range(len(WAIT_BUCKETS) + 1)]
    return Tally(
        owner=owner,
        lane=Lane(lane),
        origin=Origin(kind),
        added=amounts.get("added", 0),
        started=sum(waits),
        retried=amounts.get("retried", 0),
        lost=amounts.get("lost", 0),
        ended={state: amounts[what] for what, state in _ENDED.items() if what in amounts},
        waits=waits,
        waited=timedelta(microseconds=amounts.get("waited", 0)),
        running=running,
    )
