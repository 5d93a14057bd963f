"""Deliberate defects of the Cassandra adapter: each takes one rule of its protocols away."""

from collections.abc import Sequence
from contextlib import AbstractContextManager, ExitStack
from contextvars import ContextVar
from dataclasses import replace
from datetime import timedelta
from typing import Any
from unittest.mock import patch

from mainspring.adapters.cassandra import (
    add,
    due,
    firing,
    hand_over,
    helping,
    idempotency,
    judging,
    locks,
    members,
    runs,
    saving,
    session_rows,
    sessions,
    settle,
    shelf,
    steer,
    verdicts,
)
from mainspring.adapters.cassandra.index import of_new_run, of_waiting_run
from mainspring.adapters.cassandra.intents import Intents, intended
from mainspring.adapters.cassandra.layout import instant
from mainspring.adapters.cassandra.listing import Entry, enlist, strike
from mainspring.adapters.cassandra.rows import Put, UnknownOutcome
from mainspring.adapters.cassandra.tables import RUN, SESSION_OF
from mainspring.domain.run import State
from mainspring.testing.rows.weak import WeakRows
from mainspring.testing.simulation.ablation import Ablation, Patch, method
from mainspring.testing.simulation.storage import Store


def everywhere(modules: Sequence[Any], name: str, substitute: Any) -> Patch:
    """Patches a function in all modules that have imported it."""

    def patched() -> AbstractContextManager[Any]:
        stack = ExitStack()
        for module in modules:
            stack.enter_context(patch.object(module, name, substitute))
        return stack

    return patched


def _defect(name: str, sentence: str, patched: Patch) -> Ablation:
    return Ablation(name, sentence, patched, Store.CASSANDRA)


async def _nothing(*_: Any, **__: Any) -> None:
    pass


async def _insert_first(context: Any, rows: Any) -> None:
    now = context.now()
    complete = [runs.indexed(row, now) if row["state"] == State.WAITING else row for row in rows]
    await context.rows.put([Put(table=RUN, row=row, original=True) for row in complete])
    for row in complete:
        await context.index([*of_new_run(row), *(of_waiting_run(row) if row["state"] == State.WAITING else ())])


async def _apply_first(context: Any, plans: Any) -> Any:
    bare = {run_id: replace(planned, entries=()) for run_id, planned in plans.items()}
    applied = await _apply(context, bare)
    await context.index([entry for run_id in applied for entry in plans[run_id].entries])
    return applied


async def _decide_by_the_answer(context: Any, home: Any, changes: Any, *, unknown: bool) -> Any:
    ids = [change.key[0] for change in changes]
    try:
        stood = await context.rows.cas_batch(RUN, home, changes)
    except UnknownOutcome:
        return runs.Decision(ids if unknown else [], {})
    return runs.Decision(ids, {}) if stood is None else runs.Decision([], {row["id"]: row for row in stood})


async def _fail(context: Any, home: Any, changes: Any) -> Any:
    return await _decide_by_the_answer(context, home, changes, unknown=False)


async def _succeed(context: Any, home: Any, changes: Any) -> Any:
    return await _decide_by_the_answer(context, home, changes, unknown=True)


async def _read_plainly(self: WeakRows, table: Any, partition: Any, keys: Any = ((),), *, settled: bool = False) -> Any:  # noqa: ARG001 - that is the defect
    return await _get(self, table, partition, keys)


def _plan_under_any_fence(verdict: Any, row: Any, now: int) -> Any:
    return _plan(verdict if row is None else replace(verdict, fence=row["fence"]), row, now)


async def _announced_by(self: Any, session: Any, *, settled: bool = False) -> Any:
    context = self._context
    rows = await runs.read(context, await intended(context, session), settled=settled)
    return [row for row in rows.values() if row["state"] == State.RUNNING]


async def _strike_first(context: Any, document: Any) -> Any:
    if document.entry is not None:
        await strike(context, document.entry)
    return await _carry_out(context, document)


async def _insert_before_deciding(context: Any, stored: Any, advance: Any, document: Any, now: int) -> Any:
    await _carry_out(context, document)
    return await _decide_fire(context, stored, advance, document, now)


_PUT_OFF: ContextVar[list[tuple[Any, int, int]] | None] = ContextVar("entries-put-off", default=None)
"""Of one decision, whose task may die at any moment: what was patched then would stay patched."""


async def _put_off(context: Any, job_id: Any, version: int, *, earliest: int) -> Entry:
    listed = _PUT_OFF.get()
    if listed is None:
        return await enlist(context, job_id, version, earliest=earliest)
    listed.append((job_id, version, earliest))
    return Entry(max(earliest, context.now()), job_id, version)


async def _list_after_deciding(context: Any, stored: Any, advance: Any, document: Any, now: int) -> Any:
    listed: list[tuple[Any, int, int]] = []
    _PUT_OFF.set(listed)
    decided = await _decide_fire(context, stored, advance, document, now)
    _PUT_OFF.set(None)
    for job_id, version, earliest in listed if decided else ():
        await enlist(context, job_id, version, earliest=earliest)
    return decided


async def _reserve_blindly(context: Any, owner: str, key: Any, subject: Any, now: Any) -> Any:
    unsettled: Any = _Unsettled(context)
    try:
        return await _reserve(unsettled, owner, key, subject, now)
    except UnknownOutcome:
        return None


class _Unsettled:
    """A context whose rows answer no settled read."""

    def __init__(self, context: Any) -> None:
        self.rows = self
        self._rows = context.rows

    async def get(self, *arguments: Any, settled: bool = False) -> Any:
        if settled:
            raise UnknownOutcome("taken for a success")
        return await self._rows.get(*arguments)

    async def cas_batch(self, *arguments: Any) -> Any:
        return await self._rows.cas_batch(*arguments)


async def _list_the_dead_too(context: Any, role: Any) -> Any:
    rows = await context.rows.slice(SESSION_OF, (role,), limit=members.MOST_SESSIONS)
    return [members._member(row) for row in rows if row["name"] is not None]  # noqa: SLF001


async def _change_whatever_it_is(context: Any, row: Any, values: Any, *, expected: Any) -> bool:  # noqa: ARG001
    return await _change_session(context, row, values, expected={})


_get = WeakRows.get
_apply = settle._apply  # noqa: SLF001 - defects are put in where the safeguards are
_plan = verdicts.plan
_carry_out = helping.carry_out
_decide_fire = firing._decide  # noqa: SLF001
_reserve = idempotency.reserve
_change_session = session_rows.change_session

ABLATIONS: tuple[Ablation, ...] = (
    _defect(
        "insert-at-current-time",
        "a run is inserted at the writer's own time",
        method(WeakRows, "_time_of", lambda rows, _: rows._stamp()),  # noqa: SLF001
    ),
    _defect(
        "index-after-truth",
        "a run is stored before its entries in the indexes",
        everywhere((add, helping), "insert", _insert_first),
    ),
    _defect(
        "retry-before-index",
        "a run is put back before its entry in the due index",
        method(settle, "_apply", _apply_first),
    ),
    _defect(
        "timeout-is-failure",
        "a conditional batch without an answer counts as refused",
        everywhere((hand_over, settle, steer), "decide", _fail),
    ),
    _defect(
        "timeout-is-success",
        "a conditional batch without an answer counts as applied",
        everywhere((hand_over, settle, steer), "decide", _succeed),
    ),
    _defect("settled-by-plain-read", "doubts are settled by plain reads", method(WeakRows, "get", _read_plainly)),
    _defect("no-claim-intent", "a claim isn't written down first", method(Intents, "_write", _nothing)),
    _defect(
        "cursor-without-trail",
        "entries that lead nowhere yet are dropped, and cursors follow the clock at once",
        everywhere((due, shelf), "TRAIL", timedelta(0)),
    ),
    _defect(
        "settle-under-any-fence",
        "a result is taken under any fence",
        method(settle, "plan", _plan_under_any_fence),
    ),
    # That a loss compares the session, too, is not among these: the change that makes somebody the holder raises the
    # fence, so that no two sessions ever hold a run under the same one, and a loss that comes twice says the same
    # twice. Where the session counts is in telling what it holds.
    _defect(
        "rescue-without-holder",
        "what an ended session had announced is taken from whoever holds it",
        method(sessions.CassandraSessions, "_held", _announced_by),
    ),
    _defect(
        "beat-unconditionally",
        "a heartbeat changes a session whatever it is",
        method(sessions, "change_session", _change_whatever_it_is),
    ),
    _defect(
        "no-help",
        "nobody finishes what another has decided",
        lambda: _both(
            everywhere((firing, saving), "help_first", _nothing), everywhere((judging,), "help_with", _nothing)
        ),
    ),
    _defect(
        "pause-without-help",
        "an edit doesn't finish what was decided before it",
        method(saving, "help_first", _nothing),
    ),
    _defect(
        "insert-before-intent",
        "a moment's runs are stored before the moment is decided",
        method(firing, "_decide", _insert_before_deciding),
    ),
    _defect(
        "delete-before-insert",
        "the entry that led to a moment is removed before its runs are stored",
        everywhere((firing, saving), "carry_out", _strike_first),
    ),
    _defect(
        "list-after-deciding",
        "a job's next entry is written after its row counts on it",
        lambda: _both(method(firing, "_decide", _list_after_deciding), method(firing, "enlist", _put_off)),
    ),
    _defect(
        "key-by-guess",
        "a key whose reservation got no answer is taken for reserved",
        everywhere((add,), "reserve", _reserve_blindly),
    ),
    _defect(
        "lock-before-its-end",
        "a lock is taken over although its time isn't up",
        method(locks._Seen, "ends_at", lambda _: instant(0)),  # noqa: SLF001
    ),
    _defect(
        "lock-without-comparison",
        "a lock is taken over whatever became of it since it was read",
        method(locks._Seen, "expected", lambda seen: {} if seen.exists else None),  # noqa: SLF001
    ),
    _defect(
        "shards-of-the-dead",
        "a scheduler that has died keeps its shards of the timetable",
        method(sessions, "listed_members", _list_the_dead_too),
    ),
)


def _both(*patches: Patch) -> AbstractContextManager[Any]:
    stack = ExitStack()
    for each in patches:
        stack.enter_context(each())
    return stack
