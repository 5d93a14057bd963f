"""What a verdict makes of a run's row: the change, under which condition, what leads to it and what is told of it."""

from collections.abc import Sequence
from dataclasses import dataclass

from mainspring.adapters.cassandra.blobs import use_of
from mainspring.adapters.cassandra.bodies import whole
from mainspring.adapters.cassandra.index import of_dead_run, of_waiting_run
from mainspring.adapters.cassandra.layout import span_of
from mainspring.adapters.cassandra.ledger import Noted
from mainspring.adapters.cassandra.records import origin_of, state_of
from mainspring.adapters.cassandra.rows import Change, Put, Row, Value
from mainspring.adapters.cassandra.values import identity, number, text
from mainspring.domain.ids import Lane
from mainspring.domain.outcome import Settled, Verdict
from mainspring.domain.retry import LONGEST_DELAY
from mainspring.domain.run import State
from mainspring.domain.suspects import waiting_lane

_ALWAYS = frozenset({"state", "indexed_at"})
"""Written although they are as they were known to be: of a run that was lost and waits, a ticket may have moved one."""


@dataclass(slots=True)
class Plan:
    """A verdict that nothing stands against, by what was known of the run."""

    change: Change
    entries: Sequence[Put]
    """To be written before the change."""
    noted: Noted


def plan(verdict: Verdict, row: Row | None, now: int) -> Plan | Settled:
    """How to apply *verdict* to the run as it is, or why not."""
    refusal = _refusal(verdict, row)
    if row is None or refusal is not None:
        return refusal or Settled.STALE
    after = _after(verdict, row, now)
    # A success counts whether or not somebody has asked for an end.
    expected = {"fence": row["fence"], "state": row["state"]}
    if verdict.state is not State.SUCCEEDED:
        expected["cancel"] = row["cancel"]
    if verdict.session is not None:
        expected["session"] = verdict.session
    values = {name: value for name, value in after.items() if name in _ALWAYS or row.get(name) != value}
    change = Change(key=(row["id"],), values=whole(row, values), expected=expected)
    # A success with nothing to find it by is what nearly all are.
    entries = () if verdict.state is State.SUCCEEDED and verdict.blob is None else _entries({**row, **after}, now)
    return Plan(change, entries, _noted(verdict, row, after))


def _refusal(verdict: Verdict, row: Row | None) -> Settled | None:
    if row is None:
        return Settled.STALE
    if row["fence"] != verdict.fence:
        return Settled.REPEATED if row["settled"] == verdict.fence else Settled.STALE
    state = state_of(row)
    if state is State.RUNNING and (verdict.session is None or verdict.session == row["session"]):
        return None
    if state.terminal:
        return Settled.REPEATED
    if verdict.session is not None:
        return Settled.REPEATED if state is State.WAITING else Settled.STALE
    return None


def _after(verdict: Verdict, row: Row, now: int) -> dict[str, Value]:
    """The columns that *verdict* decides about, as they will be."""
    flagged = row["cancel"] is not None and verdict.state is not State.SUCCEEDED
    state = State.CANCELLED if flagged else verdict.state
    after: dict[str, Value] = {
        "state": int(state),
        "attempt": verdict.attempt,
        "failures": verdict.failures,
        "losses": verdict.losses,
        "result": verdict.result,
        "result_blob": verdict.blob,
        "error": verdict.error,
        "reason": (row["cancel"] or verdict.reason) if flagged else verdict.reason,
        "log": verdict.log or None,
    }
    if state is State.WAITING:
        return {**after, **_waits_again(verdict, row, now)}
    after["finished_at"] = max(now, number(row, "started_at"))
    return after


def _waits_again(verdict: Verdict, row: Row, now: int) -> dict[str, Value]:
    wake_at = now + span_of(min(verdict.delay, LONGEST_DELAY))
    lane = waiting_lane(Lane(text(row, "lane")), suspect=verdict.suspect)
    again: dict[str, Value] = {"wake_at": wake_at, "indexed_at": wake_at, "lane": lane}
    if verdict.session is None:
        again |= {"fence": number(row, "fence") + 1, "settled": row["fence"]}
    return again


def _entries(changed: Row, now: int) -> Sequence[Put]:
    state = state_of(changed)
    entries: list[Put] = []
    if state is State.WAITING:
        entries += of_waiting_run(changed)
    if state is State.DEAD:
        entries.append(of_dead_run(changed, error=str(changed["error"] or ""), now=now))
    if changed["result_blob"] is not None:
        entries.append(use_of(text(changed, "result_blob"), identity(changed, "id"), now))
    return entries


def _noted(verdict: Verdict, row: Row, after: Row) -> Noted:
    state = state_of(after)
    waits, lost = state is State.WAITING, verdict.session is not None
    return Noted(
        id=identity(row, "id"),
        job_id=identity(row, "job_id"),
        owner=text(row, "owner"),
        fence=number(after if "fence" in after else row, "fence"),
        state=int(state),
        lane=Lane(text(row, "lane")),
        kind=origin_of(row),
        retried=int(waits and not lost and verdict.error is not None),
        lost=int(lost),
        ended=int(not waits),
        running=-1 if row["state"] == State.RUNNING else 0,
        told=not waits,
    )
