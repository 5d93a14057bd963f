"""Compare-and-sets on waiting runs of one home; the one that makes them a session's own, under new fences."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from uuid import UUID

from mainspring.adapters.cassandra.context import Context
from mainspring.adapters.cassandra.layout import span_of
from mainspring.adapters.cassandra.rows import Change, Row, Value
from mainspring.adapters.cassandra.runs import Home, batches, changed_run, decide
from mainspring.adapters.cassandra.values import identity, number
from mainspring.domain.ids import SessionId
from mainspring.domain.run import State
from mainspring.domain.task import BACKSTOP
from mainspring.errors import StoreUnavailable

_TRIES = 2
_BACKSTOP = span_of(BACKSTOP)
_COMPARED = ("fence", "ticket")
"""As the row was read; beside that it waits."""


@dataclass(frozen=True, slots=True)
class Holder:
    """Who takes over."""

    session: SessionId
    name: str


@dataclass(slots=True)
class Handed:
    """What came of it."""

    won: list[Row] = field(default_factory=list)
    lost: list[UUID] = field(default_factory=list)
    """Somebody else was faster."""
    failure: StoreUnavailable | None = None
    """Why more than this may have been won."""


async def hand_over(
    context: Context, home: Home, rows: Iterable[Row], to: Holder, now: int, *, doubtful: Sequence[str] = ()
) -> Handed:
    """Hand over those of *rows* that still wait as they were read, also by the columns that are *doubtful*."""
    return await change_waiting(context, home, rows, lambda row: _values(row, to, now), doubtful)


async def change_waiting(
    context: Context, home: Home, rows: Iterable[Row], values: Callable[[Row], Row], doubtful: Sequence[str] = ()
) -> Handed:
    """Give those of *rows* that still wait as they were read the *values* that each is to have.

    All that can change of a run that waits under one fence is whether a ticket of it is out.
    """
    compared = (*_COMPARED, *doubtful)
    waiting = {identity(row, "id").int: row for row in rows}
    handed = Handed()
    for batch in batches([_change(row, values(row), compared) for row in waiting.values()]):
        try:
            await _carry_out(context, home, batch, waiting, handed)
        except StoreUnavailable as failure:
            handed.failure = failure
            break
    return handed


async def _carry_out(
    context: Context, home: Home, batch: Sequence[Change], waiting: Mapping[int, Row], handed: Handed
) -> None:
    changes = {changed_run(change).int: change for change in batch}
    for _ in range(_TRIES):
        decision = await decide(context, home, [*changes.values()])
        for run_id in decision.applied:
            handed.won.append({**waiting[run_id.int], **changes.pop(run_id.int).values})
        found = {run_id.int: row for run_id, row in decision.found.items()}
        for run in [run for run, change in changes.items() if not _stands(change, found.get(run))]:
            change = changes.pop(run)
            # What isn't there was only seen on its way: nobody was faster, and it may still come.
            if run in found:
                handed.lost.append(changed_run(change))
        if not changes:
            return


def _values(row: Row, to: Holder, now: int) -> Row:
    values: dict[str, Value] = {
        "state": int(State.RUNNING),
        "fence": number(row, "fence") + 1,
        "session": to.session,
        "worker": to.name,
        "attempt": number(row, "attempt") + 1,
        "started_at": now,
        "deadline_at": now + number(row, "timeout") + _BACKSTOP,
    }
    return values


def _change(row: Row, values: Row, compared: Sequence[str]) -> Change:
    expected = {"state": int(State.WAITING), **{name: row[name] for name in compared}}
    return Change(key=(row["id"],), values=values, expected=expected)


def _stands(change: Change, row: Row | None) -> bool:
    expected = change.expected or {}
    return row is not None and all(row[name] == value for name, value in expected.items())
