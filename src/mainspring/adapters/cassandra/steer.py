"""Orders from people: read, decide, compare-and-set on what was read; again, as long as somebody else was faster."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import assert_never

from mainspring.adapters.cassandra.blobs import use_of
from mainspring.adapters.cassandra.bodies import whole
from mainspring.adapters.cassandra.context import Context
from mainspring.adapters.cassandra.index import of_waiting_run
from mainspring.adapters.cassandra.layout import home_of, micros, slot_of, span_of
from mainspring.adapters.cassandra.ledger import Noted
from mainspring.adapters.cassandra.records import state_of, task_columns
from mainspring.adapters.cassandra.rows import Change, Put, Row, Value, only
from mainspring.adapters.cassandra.runs import decide, read
from mainspring.adapters.cassandra.tables import DUE
from mainspring.adapters.cassandra.values import identity, number, text
from mainspring.domain.ids import Lane, RunId
from mainspring.domain.run import Origin, State
from mainspring.domain.suspects import is_for_suspects, waiting_lane
from mainspring.errors import StoreUnavailable
from mainspring.ports.work import Cancel, Edit, Effect, Hold, Order, Release, Steered

_TRIES = 16


@dataclass(frozen=True, slots=True)
class _Move:
    """A change that an order asks for."""

    values: Row
    answer: Steered


async def steer(context: Context, run: RunId, order: Order) -> Steered:
    """Carry the order out where the run's state allows it."""
    for _ in range(_TRIES):
        row = (await read(context, [run], settled=True)).get(run)
        decided = _decide(row, order, context.now())
        if isinstance(decided, Steered):
            return decided
        if row is not None and await _carry_out(context, row, decided):
            return decided.answer
    raise StoreUnavailable(f"run {run} changed as often as it was steered")


def _decide(row: Row | None, order: Order, now: int) -> _Move | Steered:
    if row is None:
        return Steered(effect=Effect.MISSING)
    state = state_of(row)
    if state.terminal or (state is State.RUNNING and not isinstance(order, Cancel)):
        return Steered(effect=Effect.REFUSED, state=state)
    if order.expected_version not in {None, row["version"]}:
        return Steered(effect=Effect.CONFLICT, state=state)
    match order:
        case Cancel(reason=reason) if state is State.RUNNING:
            flagged = Steered(effect=Effect.FLAGGED, state=state)
            return flagged if row["cancel"] is not None else _Move({"cancel": reason}, flagged)
        case Cancel(reason=reason):
            values: Row = {"state": int(State.CANCELLED), "finished_at": now, "reason": reason}
            return _Move({**values, **_renewed(row)}, Steered(effect=Effect.DONE, state=State.CANCELLED))
        case Hold() | Release() | Edit():
            done = Steered(effect=Effect.DONE, state=state)
            changes = _waiting(row, order, now)
            return done if changes is None else _Move({**changes, **_renewed(row), **_revised(row)}, done)
        case _:
            assert_never(order)


def _waiting(row: Row, order: Hold | Release | Edit, now: int) -> Row | None:
    """What a run that waits has then; None if it has it already."""
    held = row["wake_at"] is None
    match order:
        case Hold():
            return None if held else {"wake_at": None, "held_wake": row["wake_at"]}
        case Release():
            return _wakes(number(row, "held_wake"), now) | {"held_wake": None} if held else None
        case Edit():
            return _edited(row, order, now)
        case _:
            assert_never(order)


def _edited(row: Row, order: Edit, now: int) -> Row:
    values: dict[str, Value] = {}
    if order.name is not None:
        values["name"] = order.name
    if order.spec is not None:
        values["spec"] = order.spec
    if order.task is not None:
        # Another payload clears nobody: it runs alone until it has proved itself.
        lane = waiting_lane(order.task.lane, suspect=is_for_suspects(text(row, "lane")))
        values |= task_columns(replace(order.task, lane=lane))
    if order.due is None:
        return values if row["wake_at"] is None else values | _wakes(number(row, "wake_at"), now)
    due_at = micros(order.due) if isinstance(order.due, datetime) else now + span_of(order.due)
    wakes: Row = {"held_wake": due_at} if row["wake_at"] is None else _wakes(due_at, now)
    return {**values, "due_at": due_at, **wakes}


def _wakes(at: int, now: int) -> dict[str, Value]:
    return {"wake_at": at, "indexed_at": max(at, now)}


def _renewed(row: Row) -> Row:
    return {"fence": number(row, "fence") + 1}


def _revised(row: Row) -> Row:
    return {"version": number(row, "version") + 1}


async def _carry_out(context: Context, row: Row, move: _Move) -> bool:
    changed = {**row, **move.values}
    await context.index(_entries(row, changed, context.now()))
    expected = {"fence": row["fence"], "state": row["state"], "version": row["version"], "cancel": row["cancel"]}
    change = Change(key=(row["id"],), values=whole(row, move.values), expected=expected)
    decision = await decide(context, home_of(identity(row, "id")), [change])
    if not decision.applied:
        return False
    await context.note(_happened(row, changed))
    await _take_away(context, row, changed)
    return True


def _entries(row: Row, changed: Row, now: int) -> Sequence[Put]:
    entries: list[Put] = []
    if state_of(changed) is State.WAITING and changed["wake_at"] is not None:
        entries += of_waiting_run(changed)
    if changed["blob"] is not None and changed["blob"] != row["blob"]:
        entries.append(use_of(text(changed, "blob"), identity(row, "id"), now))
    return entries


async def _take_away(context: Context, row: Row, changed: Row) -> None:
    """The entry that led to the run as it was. Its key has the old fence: no later entry can be meant."""
    if state_of(row) is State.WAITING and row["fence"] != changed["fence"] and row["wake_at"] is not None:
        indexed_at = number(row, "indexed_at")
        partition = (row["shard"], row["lane"], slot_of(indexed_at))
        await context.rows.delete_range(DUE, partition, only((indexed_at, row["id"], row["fence"])))


def _happened(row: Row, changed: Row) -> Sequence[Noted]:
    """A flag isn't told. A run is counted in the lane where it will be claimed."""
    if state_of(changed) is State.RUNNING:
        return ()
    ended = state_of(changed).terminal
    moved = row["lane"] != changed["lane"]
    before = _noted(row, fence=number(row, "fence"), added=-1, told=False)
    after = _noted(changed, fence=number(changed, "fence"), added=int(moved), ended=int(ended))
    return (before, after) if moved else (after,)


def _noted(row: Row, *, fence: int, added: int = 0, ended: int = 0, told: bool = True) -> Noted:
    return Noted(
        id=identity(row, "id"),
        job_id=identity(row, "job_id"),
        owner=text(row, "owner"),
        fence=fence,
        state=number(row, "state"),
        lane=Lane(text(row, "lane")),
        kind=Origin(number(row, "kind")),
        added=added,
        ended=ended,
        told=told,
    )
