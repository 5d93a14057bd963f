"""Orders from people: cancel, hold, release, edit. The row is locked between looking and changing: nothing slips in."""

from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import assert_never

from mainspring.adapters.postgres.bounds import earliest_end
from mainspring.adapters.postgres.engine import Connection
from mainspring.adapters.postgres.rows import instant, task_fields, text
from mainspring.adapters.postgres.statements import load
from mainspring.domain.ids import RunId
from mainspring.domain.run import State
from mainspring.domain.suspects import is_for_suspects, waiting_lane
from mainspring.ports.work import Cancel, Edit, Effect, Hold, Order, Release, Steered

_SQL = load("work")


@dataclass(frozen=True, slots=True)
class _Live:
    id: RunId
    state: int
    version: int
    held: bool
    owner: str
    lane: str
    kind: int


async def steer(connection: Connection, run: RunId, order: Order) -> Steered:
    """Carry the order out where the run's state allows it."""
    row = await connection.fetchrow(_SQL["steered"], run)
    if row is None:
        ended = await connection.fetchval(_SQL["ended_state"], run, earliest_end([run]))
        if ended is None:
            return Steered(effect=Effect.MISSING)
        return Steered(effect=Effect.REFUSED, state=State(ended))
    live = _Live(*row)
    state = State(live.state)
    if state is State.RUNNING and not isinstance(order, Cancel):
        return Steered(effect=Effect.REFUSED, state=state)
    if order.expected_version not in {None, live.version}:
        return Steered(effect=Effect.CONFLICT, state=state)
    return await _obey(connection, live, order)


async def cancel_active(connection: Connection, run: RunId, reason: str) -> None:
    """Cancel on behalf of the timetable, whatever the run's state."""
    await steer(connection, run, Cancel(reason=reason))


async def _obey(connection: Connection, live: _Live, order: Order) -> Steered:
    match order:
        case Cancel(reason=reason) if live.state == State.RUNNING:
            await connection.execute(_SQL["flag"], live.id, text(reason))
            return Steered(effect=Effect.FLAGGED, state=State.RUNNING)
        case Cancel(reason=reason):
            await connection.execute(_SQL["cancel_waiting"], live.id, text(reason))
            return Steered(effect=Effect.DONE, state=State.CANCELLED)
        case Hold():
            if not live.held:
                await connection.execute(_SQL["hold"], live.id)
        case Release():
            if live.held:
                await connection.execute(_SQL["release"], live.id)
        case Edit():
            await _edit(connection, live, order)
        case _:
            assert_never(order)
    return Steered(effect=Effect.DONE, state=State.WAITING)


async def _edit(connection: Connection, live: _Live, order: Edit) -> None:
    if order.task is not None:
        # Another payload clears nobody: it runs alone until it has proved itself.
        lane = waiting_lane(order.task.lane, suspect=is_for_suspects(live.lane))
        await connection.execute(_SQL["edit_task"], live.id, *task_fields(replace(order.task, lane=lane)))
        if lane != live.lane:
            await connection.execute(_SQL["move_count"], live.id, live.owner, live.kind, live.lane, lane)
    moment = instant(order.due) if isinstance(order.due, datetime) else None
    delay = order.due if isinstance(order.due, timedelta) else None
    await connection.execute(_SQL["edit_rest"], live.id, moment, delay, order.name, order.spec)
