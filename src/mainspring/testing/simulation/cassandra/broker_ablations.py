"""Deliberate defects of tickets on Cassandra: each takes one rule of their protocol away."""

from dataclasses import replace
from typing import Any

from mainspring.adapters.cassandra import claim, due, hand_over, seize, start, take, waits
from mainspring.domain.run import State
from mainspring.testing.simulation.ablation import Ablation, Patch, method
from mainspring.testing.simulation.cassandra.ablations import everywhere
from mainspring.testing.simulation.storage import Store


def _defect(name: str, sentence: str, patched: Patch) -> Ablation:
    return Ablation(name, sentence, patched, Store.CASSANDRA_BROKER)


def _blind_to_tickets(row: Any, values: Any) -> Any:
    change = _change(row, values)
    return replace(change, expected={name: value for name, value in change.expected.items() if name != "ticket"})


def _whatever_it_says(ticket: Any, row: Any) -> bool:  # noqa: ARG001 - that is the defect
    return row is not None and row["state"] == State.WAITING and row["wake_at"] is not None


def _lead_by_any_entry(entry: Any, row: Any, now: int) -> Any:
    return _lead(entry, None if row is None else {**row, "indexed_at": 0}, now)


_change: Any = hand_over._change  # noqa: SLF001 - defects are put in where the safeguards are
_lead = due.lead

ABLATIONS: tuple[Ablation, ...] = (
    _defect(
        "ticket-not-compared",
        "whoever changes a run that waits doesn't ask whether a ticket was given out meanwhile",
        method(hand_over, "_change", _blind_to_tickets),
    ),
    _defect(
        "ticket-under-any-fence",
        "a ticket starts its run whatever has become of it since",
        method(start, "_is_current", _whatever_it_says),
    ),
    _defect(
        "claim-in-the-grace",
        "a claim takes a run by the entry that led to it before its ticket was given out",
        everywhere((claim, seize, take, waits), "lead", _lead_by_any_entry),
    ),
    _defect(
        "grace-without-end",
        "a run whose ticket was given out isn't listed for claims again",
        method(take, "of_waiting_run", lambda _: ()),
    ),
)
