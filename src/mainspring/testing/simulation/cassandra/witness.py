"""Tells the story of a cluster in the words of the ports: what each decision of the nodes amounts to, as it is made.

A verb of this store is many requests, and its process may die between any two of them. What it has brought about is
therefore noted where it comes to be: when a conditional batch is decided, or a row that nobody knew reaches a node.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any
from uuid import UUID

from mainspring.adapters.cassandra.bodies import unfolded
from mainspring.adapters.cassandra.layout import instant
from mainspring.adapters.cassandra.records import attempt_of
from mainspring.adapters.cassandra.rows import Key, Row, Value
from mainspring.adapters.cassandra.table import Table
from mainspring.adapters.cassandra.tables import DEAD, IDEMPOTENCY, JOB, LOCK, RUN, SESSION
from mainspring.adapters.cassandra.take import ticket_of
from mainspring.domain.ids import Fence, RunId, SessionId
from mainspring.domain.job import NewJob
from mainspring.domain.outcome import Settled, Verdict
from mainspring.domain.run import Attempt, NewRun, State
from mainspring.ports.locks import Lock
from mainspring.ports.sessions import Heard
from mainspring.ports.work import Added, Addition, Cancel, Claim, Effect, Steered
from mainspring.testing.rows.cluster import Round, Written
from mainspring.testing.simulation.cassandra.asking import Asking
from mainspring.testing.simulation.history import Applied, Happened, History
from mainspring.testing.simulation.universe import Universe

_ALIVE = 0
_RELEASED = 0

Changed = tuple[UUID, Row, Row]
"""A row's id, what it was and what it is."""


class Storyteller:
    """The `Witness` of a simulated cluster, which also hears what verbs return."""

    def __init__(self, universe: Universe, history: History) -> None:
        self._universe = universe
        self._history = history
        self._known: set[tuple[str, Key]] = set()
        """Rows that have been stored, by table and id."""
        self._keys: dict[UUID, tuple[str, str]] = {}
        """The idempotency key that stands for a run or job, with its owner."""
        self._untold: dict[tuple[str, UUID, Fence], Verdict] = {}
        """Results that count and whose process hasn't been told so: it may have to ask again before it is."""
        self._takers: dict[tuple[RunId, Fence], Asking] = {}
        """By whose call each ticket was taken."""

    def written(self, table: Table, partition: Key, write: Written, origin: object) -> None:
        """A row that nobody knew is the beginning of something."""
        asking = _asking(origin)
        if table is DEAD and asking.verb == "work.discard" and write.values.get("resolved"):
            self._tell(asking, "work.discard", ([write.key[0]],), None, min)
        identity = write.key or partition
        if table not in {RUN, JOB, SESSION} or (table.name, identity) in self._known:
            return
        self._known.add((table.name, identity))
        self._stored(table, identity[0], write.values, asking)

    def vanished(self, table: Table, partition: Key, write: Written) -> None:
        """Nobody was told of it, unless somebody took what he saw for what is."""
        identity = write.key or partition
        if table is RUN and (table.name, identity) in self._known:
            self._known.discard((table.name, identity))
            self._history.record(Happened(self._universe.time, "nodes", f"lost run {_identity(identity[0]).hex[-6:]}"))
            asking = Asking("nodes", "work.vanish", (), self._universe.time)
            self._tell(asking, "work.vanish", identity, None, min)

    def decided(self, table: Table, partition: Key, decided: Round) -> None:
        """What was changed says what was done, and the verb says what for."""
        asking = _asking(decided.origin)
        if table is RUN:
            self._runs_changed(asking, [*_changed(decided)])
        elif table is JOB:
            self._job_changed(asking, partition[0], decided.before[0], decided.changes[0].values)
        elif table is SESSION:
            self._session_changed(asking, partition[0], decided.before[0], decided.changes[0].values)
        elif table is LOCK:
            self._lock_changed(asking, partition[0], decided.changes[0].values)
        elif table is IDEMPOTENCY:
            owner, key = partition
            self._keys[_identity(decided.changes[0].values["id"])] = str(owner), str(key)

    def answered(self, asking: Asking, answer: Any) -> None:
        """What was not done must have had a reason."""
        if asking.verb == "work.settle":
            for verdict, settled in zip(asking.arguments[0], answer, strict=True):
                if settled is not Settled.ACCEPTED:
                    self._tell(asking, "work.settle", ([verdict],), [settled], min)
                elif self._untold.pop(_result(asking, verdict), None) != verdict:
                    self._tell(asking, "work.believed", ("settle", verdict.run_id), None, min)
        elif asking.verb == "tickets.take":
            for ticket in answer:
                if self._takers.get((ticket.run_id, ticket.fence)) is not asking:
                    self._tell(asking, "tickets.believed", (ticket,), None, min)
        elif asking.verb == "tickets.start" and None in answer:
            by, tickets = asking.arguments
            refused = [ticket for ticket, attempt in zip(tickets, answer, strict=True) if attempt is None]
            self._tell(asking, "tickets.start", (by, refused), [None] * len(refused), max)
        elif asking.verb == "work.steer" and answer.effect in {Effect.DONE, Effect.FLAGGED}:
            self._tell(asking, "work.obeyed", asking.arguments, answer, min)

    def _stored(self, table: Table, identity: Any, values: Row, asking: Asking) -> None:
        if table is SESSION:
            self._tell(asking, "sessions.open", asking.arguments, SessionId(identity), min)
            return
        item = self._item(asking, identity)
        if item is not None:
            if isinstance(item, NewRun):
                item = replace(item, id=identity, due=instant(_number(values, "wake_at")))
            else:
                item = replace(item, job=replace(item.job, id=identity))
            self._tell(asking, "work.add", ([item],), [Added(Addition.CREATED, identity)], min)
        elif values.get("state") != State.SKIPPED:
            self._tell(asking, "timetable.store", (identity,), None, min)

    def _item(self, asking: Asking, identity: UUID) -> NewRun | NewJob | None:
        """What was asked to be stored; by its key where an earlier submission's id is completed."""
        if asking.verb != "work.add":
            return None
        items: Sequence[NewRun | NewJob] = asking.arguments[0]
        by_id = {_id_of(item): item for item in items}
        by_key = {(_owner_of(item), item.key.text): item for item in items if item.key is not None}
        return by_id.get(identity) or by_key.get(self._keys.get(identity, ("", "")))

    def _runs_changed(self, asking: Asking, changed: Sequence[Changed]) -> None:
        match asking.verb:
            case "work.claim" | "tickets.start":
                self._handed_over(asking, [attempt_of(after) for _, _, after in changed])
            case "tickets.take":
                self._taken(asking, changed)
            case "work.settle":
                for identity, before, _ in changed:
                    verdict = _verdict(asking, identity, before)
                    self._untold[_result(asking, verdict)] = verdict
                    self._tell(asking, "work.settle", ([verdict],), [Settled.ACCEPTED], min)
            case "work.steer":
                for identity, before, after in changed:
                    self._steered(asking, identity, asking.arguments[1], before, after)
            case "timetable.fire" | "timetable.due" | "timetable.save":
                for identity, before, after in changed:
                    self._steered(asking, identity, Cancel(), before, after)
            case "work.hide":
                pass
            case _:
                raise AssertionError(f"{asking.verb} has no business with runs")

    def _taken(self, asking: Asking, changed: Sequence[Changed]) -> None:
        """At the time from which its grace counts."""
        _, _, grace = asking.arguments
        tickets = [ticket_of(after) for _, _, after in changed]
        self._takers |= {(ticket.run_id, ticket.fence): asking for ticket in tickets}
        now = instant(_number(changed[0][2], "indexed_at")) - grace
        self._tell(asking, "tickets.take", asking.arguments, tickets, lambda _: now)

    def _handed_over(self, asking: Asking, attempts: Sequence[Attempt]) -> None:
        if asking.verb == "work.claim":
            self._tell(asking, "work.claim", asking.arguments, Claim(attempts=attempts, next_in=None), max)
            return
        by, tickets = asking.arguments
        started = {attempt.run_id for attempt in attempts}
        named = [ticket for ticket in tickets if ticket.run_id in started]
        self._tell(asking, "tickets.start", (by, named), attempts, max)

    def _steered(self, asking: Asking, identity: UUID, order: Any, before: Row, after: Row) -> None:
        effect = Effect.FLAGGED if before["state"] == State.RUNNING else Effect.DONE
        answer = Steered(effect=effect, state=State(_number(after, "state")))
        self._tell(asking, "work.steer", (identity, order), answer, min)

    def _job_changed(self, asking: Asking, identity: Any, before: Row | None, values: Row) -> None:
        if before is None:
            self._known.add((JOB.name, (identity,)))
            self._stored(JOB, identity, values, asking)
        elif asking.verb == "timetable.save":
            job = replace(asking.arguments[0], version=_number(values, "version"))
            self._tell(asking, "timetable.save", asking.arguments, job, min)
        elif asking.verb == "timetable.fire" and values.keys() > {"firing"}:
            [advance] = [each for each in asking.arguments[0] if each.job_id == identity]
            self._tell(asking, "timetable.fire", ([replace(advance, cancel=None)],), [True], max)

    def _session_changed(self, asking: Asking, identity: Any, before: Row | None, values: Row) -> None:
        if before is None:
            self._stored(SESSION, identity, values, asking)
        elif values.get("state", _ALIVE) != _ALIVE:
            self._tell(asking, "sessions.bury", (), [SessionId(identity)], max)
        elif "expires_at" in values:
            heard = Heard(held={}, cancelling=frozenset())
            self._tell(asking, "sessions.beat", (SessionId(identity),), heard, min)

    def _lock_changed(self, asking: Asking, name: Any, values: Row) -> None:
        expires_at = _number(values, "expires_at")
        lock = Lock(
            name=name,
            holder=str(values["holder"]),
            fence=Fence(_number(values, "fence")),
            expires_at=instant(expires_at),
        )
        if expires_at == _RELEASED:
            self._tell(asking, "locks.release", (lock,), True, max)
        else:
            self._tell(asking, asking.verb, asking.arguments, lock, max)

    def _tell(
        self,
        asking: Asking,
        verb: str,
        arguments: tuple[Any, ...],
        answer: Any,
        which: Callable[[Sequence[datetime]], datetime],
    ) -> None:
        """The verb's own time is what it has read from its process's clock: where it has read it twice, *which*."""
        now = which(asking.readings) if asking.readings else instant(0)
        self._history.record(Applied(self._universe.time, now, asking.process, verb, arguments, answer, asking.sent))


def _asking(origin: object) -> Asking:
    assert isinstance(origin, Asking), "somebody asks the nodes outside of any verb"
    return origin


def _changed(decided: Round) -> Iterator[Changed]:
    for change, before in zip(decided.changes, decided.before, strict=True):
        was = {"id": change.key[0], **(before or {})}
        yield _identity(change.key[0]), unfolded(was), unfolded({**was, **change.values})


def _id_of(item: NewRun | NewJob) -> UUID:
    return item.job.id if isinstance(item, NewJob) else item.id


def _owner_of(item: NewRun | NewJob) -> str:
    return item.job.owner if isinstance(item, NewJob) else item.owner


def _identity(value: Value) -> UUID:
    assert isinstance(value, UUID)
    return value


def _verdict(asking: Asking, identity: UUID, before: Row) -> Verdict:
    """Of several verdicts on one run the one whose fence it had, if there is such."""
    verdicts: list[Verdict] = [verdict for verdict in asking.arguments[0] if verdict.run_id == identity]
    return next((verdict for verdict in verdicts if verdict.fence == before["fence"]), verdicts[0])


def _result(asking: Asking, verdict: Verdict) -> tuple[str, UUID, Fence]:
    return asking.process, verdict.run_id, verdict.fence


def _number(row: Row, name: str) -> int:
    value = row[name]
    assert isinstance(value, int)
    return value
