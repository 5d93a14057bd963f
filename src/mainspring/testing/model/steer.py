"""Orders to single runs: cancel, hold, release, edit."""

from datetime import datetime
from typing import assert_never

from mainspring.domain.ids import Fence, RunId, Version
from mainspring.domain.run import Run, State
from mainspring.ports.work import Cancel, Edit, Effect, Hold, Order, Release, Steered
from mainspring.testing.model.tables import Tables


def steer(tables: Tables, run_id: RunId, order: Order) -> Steered:
    """Apply *order* as far as the run's state allows; repeating a hold or a release changes nothing."""
    run = tables.runs.get(run_id)
    if run is None:
        return Steered(effect=Effect.MISSING)
    if run.state.terminal:
        return Steered(effect=Effect.REFUSED, state=run.state)
    if run.state is State.RUNNING and not isinstance(order, Cancel):
        return Steered(effect=Effect.REFUSED, state=run.state)
    if order.expected_version is not None and order.expected_version != run.version:
        return Steered(effect=Effect.CONFLICT, state=run.state)
    if isinstance(order, Cancel):
        after = tables.cancel(run, order.reason)
        return Steered(effect=Effect.DONE if after.state.terminal else Effect.FLAGGED, state=after.state)
    _change(tables, run, order)
    return Steered(effect=Effect.DONE, state=run.state)


def _change(tables: Tables, run: Run, order: Hold | Release | Edit) -> None:
    match order:
        case Hold():
            if run.wake_at is not None:
                tables.held_until[run.id] = run.wake_at
                _moved(tables, tables.change(run, wake_at=None))
        case Release():
            if run.wake_at is None:
                _moved(tables, tables.change(run, wake_at=tables.held_until.pop(run.id)))
        case Edit():
            _edit(tables, run, order)
        case _:
            assert_never(order)


def _edit(tables: Tables, run: Run, order: Edit) -> None:
    edited = tables.change(
        run,
        name=run.name if order.name is None else order.name,
        spec=run.spec if order.spec is None else order.spec,
    )
    if order.due is not None:
        due_at = order.due if isinstance(order.due, datetime) else tables.now() + order.due
        edited = tables.change(edited, due_at=due_at, wake_at=None if run.wake_at is None else due_at)
        tables.held_until[run.id] = due_at
    if order.task is not None:
        # The run moves to the tallies of its new lane: runs that live there are those that were added less those ended.
        tables.count(edited, "added", -1)
        edited = tables.change(edited, task=order.task)
        tables.count(edited, "added")
    _moved(tables, edited)


def _moved(tables: Tables, run: Run) -> None:
    tables.change(run, fence=Fence(run.fence + 1), version=Version(run.version + 1))
    tables.changed.append(run.id)
