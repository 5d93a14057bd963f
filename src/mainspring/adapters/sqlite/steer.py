"""Orders from people: cancel, hold, release, edit. Looking and changing are one transaction: nothing slips between."""

import json
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import assert_never

from mainspring.adapters.sqlite.engine import Transaction
from mainspring.adapters.sqlite.rows import HELD, dump, micros, task_fields, to_micros
from mainspring.adapters.sqlite.statements import load
from mainspring.adapters.sqlite.totals import Totals, add_totals
from mainspring.domain.ids import Lane, RunId
from mainspring.domain.run import State
from mainspring.domain.suspects import is_for_suspects, waiting_lane
from mainspring.ports.work import Cancel, Edit, Effect, Hold, Order, Release, Steered

_SQL = load("work")


@dataclass(frozen=True, slots=True)
class _Live:
    seq: int
    state: int
    version: int
    wake_at: int
    owner: str
    lane: str
    kind: int


def steer(transaction: Transaction, run: RunId, order: Order) -> Steered:
    """Carry the order out where the run's state allows it."""
    row = transaction.value(_SQL["steered"], run.bytes)
    if row is None:
        ended = transaction.value(_SQL["ended_state"], run.bytes)
        if ended is None:
            return Steered(effect=Effect.MISSING)
        return Steered(effect=Effect.REFUSED, state=State(ended))
    live = _Live(*json.loads(row))
    state = State(live.state)
    if state is State.RUNNING and not isinstance(order, Cancel):
        return Steered(effect=Effect.REFUSED, state=state)
    if order.expected_version not in {None, live.version}:
        return Steered(effect=Effect.CONFLICT, state=state)
    return _obey(transaction, live, order)


def cancel_active(transaction: Transaction, run: RunId, reason: str) -> None:
    """Cancel on behalf of the timetable, whatever the run's state."""
    steer(transaction, run, Cancel(reason=reason))


def _obey(transaction: Transaction, live: _Live, order: Order) -> Steered:
    match order:
        case Cancel(reason=reason) if live.state == State.RUNNING:
            transaction.execute(_SQL["flag"], live.seq, reason)
            return Steered(effect=Effect.FLAGGED, state=State.RUNNING)
        case Cancel(reason=reason):
            _cancel(transaction, live, reason)
            return Steered(effect=Effect.DONE, state=State.CANCELLED)
        case Hold():
            _move(transaction, live, held=True)
        case Release():
            _move(transaction, live, held=False)
        case Edit():
            _edit(transaction, live, order)
        case _:
            assert_never(order)
    return Steered(effect=Effect.DONE, state=State.WAITING)


def _cancel(transaction: Transaction, live: _Live, reason: str) -> None:
    transaction.execute(_SQL["cancel_waiting"], live.seq, transaction.now, reason)
    transaction.execute(_SQL["leave"], dump([live.seq]))
    add_totals(transaction, Totals({(live.owner, live.lane, live.kind, "cancelled"): 1}))


def _move(transaction: Transaction, live: _Live, *, held: bool) -> None:
    if held is not (live.wake_at >= HELD):
        transaction.execute(_SQL["move_wake"], live.seq, live.wake_at + (HELD if held else -HELD))
        _renew(transaction, live)


def _edit(transaction: Transaction, live: _Live, order: Edit) -> None:
    if order.task is not None:
        # Another payload clears nobody: it runs alone until it has proved itself.
        lane = waiting_lane(order.task.lane, suspect=is_for_suspects(live.lane))
        transaction.execute(_SQL["edit_task"], live.seq, *task_fields(replace(order.task, lane=lane)))
        _count_in(transaction, live, lane)
    due = None if order.due is None else _instant(transaction, order.due)
    wake = due if due is None or live.wake_at < HELD else due + HELD
    transaction.execute(_SQL["edit_rest"], live.seq, due, wake, order.name, order.spec)
    _renew(transaction, live)


def _renew(transaction: Transaction, live: _Live) -> None:
    """Give the row a new version, and a new number: whoever follows the numbers learns of the change."""
    transaction.execute(_SQL["renew"], live.seq, transaction.value(_SQL["next_number"]))


def _count_in(transaction: Transaction, live: _Live, lane: Lane) -> None:
    """A run is counted where it will be claimed: what lives in a lane is what was added there and hasn't ended."""
    if lane != live.lane:
        moved = Totals({(live.owner, live.lane, live.kind, "added"): -1, (live.owner, lane, live.kind, "added"): 1})
        add_totals(transaction, moved)


def _instant(transaction: Transaction, due: datetime | timedelta) -> int:
    return transaction.now + micros(due) if isinstance(due, timedelta) else to_micros(due)
