"""Totals that the store keeps, added up for people and programs."""

from collections.abc import Sequence
from typing import Any

from mainspring.api.caller import Caller
from mainspring.domain.run import State
from mainspring.ports.sessions import Member
from mainspring.ports.views import Figures, Tally

_ENDED = {
    "completed": State.SUCCEEDED,
    "failed": State.DEAD,
    "cancelled": State.CANCELLED,
    "skipped": State.SKIPPED,
}


def visible_tallies(figures: Figures, caller: Caller) -> Sequence[Tally]:
    """The tallies that are the caller's business."""
    return [tally for tally in figures.tallies if caller.visible in (None, tally.owner)]


def totals(tallies: Sequence[Tally]) -> dict[str, int]:
    """The sums of *tallies*."""
    return {
        "added": sum(tally.added for tally in tallies),
        "started": sum(tally.started for tally in tallies),
        "retried": sum(tally.retried for tally in tallies),
        "lost": sum(tally.lost for tally in tallies),
        **{word: sum(tally.ended.get(state, 0) for tally in tallies) for word, state in _ENDED.items()},
        "live": sum(tally.live for tally in tallies),
        "running": sum(tally.running for tally in tallies),
        "waiting": sum(tally.live - tally.running for tally in tallies),
    }


def shown_figures(
    figures: Figures, suspects: int, caller: Caller, workers: Sequence[Member], schedulers: Sequence[Member]
) -> dict[str, Any]:
    """Everything as one object; what is counted for the whole cluster isn't shown to those who see only their own."""
    tallies = visible_tallies(figures, caller)
    added_up = totals(tallies)
    whole = caller.visible is None
    return {
        "totals": added_up,
        "by_group": [
            {**totals([tally]), "owner": tally.owner, "lane": tally.lane, "job_type": tally.origin.name.lower()}
            for tally in tallies
        ],
        "running": added_up["running"],
        "waiting": added_up["waiting"],
        "dead_letters": figures.dead_letters if whole else None,
        "suspects": suspects if whole else None,
        "workers": len(workers),
        "schedulers": len(schedulers),
        "capacity": sum(worker.capacity for worker in workers),
        "executing": sum(worker.executing for worker in workers),
    }
