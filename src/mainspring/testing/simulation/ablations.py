"""Deliberate defects: each takes one safeguard away, to prove that the simulation would see it missing.

These are found on SQLite; those of a broker and of the Cassandra adapter have files of their own.
"""

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from dataclasses import replace
from datetime import timedelta
from typing import Any
from unittest.mock import patch

from mainspring.adapters.sqlite import settle, steer
from mainspring.adapters.sqlite.statements import load
from mainspring.domain import outcome
from mainspring.domain import plan as domain_plan
from mainspring.domain.plan import Advance, DueJob, plan
from mainspring.domain.retry import RetryPolicy
from mainspring.domain.run import Attempt
from mainspring.errors import StoreError
from mainspring.ports.journal import Finished, Note
from mainspring.ports.signals import TIMETABLE
from mainspring.services import planner
from mainspring.services.rescuer import Rescuer
from mainspring.testing.simulation import broker_ablations as broker
from mainspring.testing.simulation.ablation import Ablation, method, statement
from mainspring.testing.simulation.cassandra import ablations as cassandra
from mainspring.testing.simulation.cassandra import broker_ablations as cassandra_broker
from mainspring.testing.simulation.ports import SimulatedJournal
from mainspring.worker.delivery import Delivered, Delivery
from mainspring.worker.executing import Executor
from mainspring.worker.holdings import Holdings
from mainspring.worker.isolation import Isolation
from mainspring.worker.neighbours import Neighbours


async def _do_no_rescue(_rescuer: Rescuer) -> bool:
    return False


async def _leave_it(_neighbours: Neighbours) -> None:
    pass


async def _listen_without_end(self: planner.Planner, at_most: timedelta) -> bool:  # noqa: ARG001 - that is the defect
    return await self._signals.wait((TIMETABLE,), timedelta(days=1))


def _drift(due: DueJob, now: Any, lateness: timedelta) -> Advance:
    advance = plan(due, now, lateness)
    if advance.look_again is not None:
        return advance
    return replace(advance, next_fire_at=now + timedelta(seconds=2), wake_at=now + timedelta(seconds=2))


async def _settle_once(self: Delivery, group: Sequence[Any]) -> Delivered:
    with suppress(StoreError):
        await self._work.settle(group)
    return Delivered(stale=(), refused=())


def _keep_nothing(self: SimulatedJournal, notes: Sequence[Note]) -> None:
    kept = list(self.replay())
    _append(self, notes)
    self.rewrite(kept)


def _keep_no_results(self: SimulatedJournal, notes: Sequence[Note]) -> None:
    _append(self, [note for note in notes if not isinstance(note, Finished)])


@contextmanager
def _both(*patches: AbstractContextManager[Any]) -> Iterator[None]:
    with ExitStack() as stack:
        for each in patches:
            stack.enter_context(each)
        yield


def _charge(attempt: Attempt, lost: outcome.Lost, now: Any) -> outcome.Verdict:
    return _lost(attempt, replace(lost, shared=None), now)


def _leave_the_row(transaction: Any, live: Any, reason: str) -> None:
    transaction.execute(load("work")["cancel_waiting"], live.seq, transaction.now, reason)


_append = SimulatedJournal.append
_lost = outcome._lost  # noqa: SLF001

ABLATIONS: tuple[Ablation, ...] = (
    Ablation(
        "settle-without-fence",
        "`settle` takes a result under any fence",
        statement("work", ("current", "q.fence = j.value ->> 1 AND", "")),
    ),
    Ablation(
        "claim-without-fence",
        "a claim hands a run over under its old fence",
        statement("work", ("hand_over", "fence = fence + 1", "fence = fence")),
    ),
    Ablation(
        "claim-early",
        "a claim looks at no clock",
        statement("work", ("candidates", "AND wake_at <= ?3", "")),
    ),
    Ablation(
        "claim-by-the-dead",
        "a session that has ended may still claim",
        statement("work", ("holder", "AND state = 0", "")),
    ),
    Ablation(
        "rescue-without-session",
        "a loss is taken whoever holds the run",
        statement(
            "work", ("current", "AND (j.value ->> 2 IS NULL OR (q.session = j.value ->> 2 AND q.state = 1))", "")
        ),
    ),
    Ablation(
        "rescue-takes-the-fence",
        "a loss makes the holder's late result stale",
        statement("work", ("put_back", "fence = iif(v.value ->> 8, fence, fence + 1)", "fence = fence + 1")),
    ),
    Ablation(
        "no-rescue",
        "nobody takes runs out of dead hands",
        lambda: patch.multiple(Rescuer, _rescue_from_ended_sessions=_do_no_rescue, _rescue_overdue=_do_no_rescue),
    ),
    Ablation(
        "beat-revives",
        "a heartbeat brings a buried session back",
        statement("sessions", ("beat", "WHERE id = ?1 AND state = 0", "WHERE id = ?1")),
    ),
    Ablation(
        "strays-ignored",
        "a worker doesn't ask what else the store believes it holds",
        method(Holdings, "_find_strays", lambda *_: frozenset()),
    ),
    Ablation(
        "strays-unchecked",
        "a worker takes up all that the store believes it holds, done or not",
        method(Holdings, "_known", lambda _: frozenset()),
    ),
    Ablation(
        "settle-once",
        "a worker takes a settle without an answer for a failure and goes on",
        method(Delivery, "settle", _settle_once),
    ),
    Ablation(
        "neighbours-idle",
        "nobody settles what a dead neighbour had finished",
        method(Neighbours, "step", _leave_it),
    ),
    Ablation("journal-off", "a worker's journal keeps nothing", method(SimulatedJournal, "append", _keep_nothing)),
    Ablation(
        "journal-late",
        "results are journalled only once they are settled",
        method(SimulatedJournal, "append", _keep_no_results),
    ),
    Ablation(
        "fire-without-version",
        "an advance made for an older version of its job is applied",
        statement("timetable", ("as_expected", "AND j.version = a.value ->> 1", "")),
    ),
    Ablation(
        "fire-without-moment",
        "an advance is applied although its moment has been decided",
        statement(
            "timetable",
            ("as_expected", "AND j.next_fire_at = a.value ->> 2 AND j.active_run IS unhex(a.value ->> 3)", ""),
        ),
    ),
    Ablation(
        "fire-while-paused",
        "an advance is applied whatever the state and version of its job",
        statement("timetable", ("as_expected", "j.state = 0 AND j.version = a.value ->> 1 AND", "")),
    ),
    Ablation(
        "fire-early",
        "an advance is applied before its moment, by a planner whose word is taken for the time",
        statement("timetable", ("as_expected", "AND j.next_fire_at <= ?2", "AND ?2 IS NOT NULL")),
    ),
    Ablation(
        "save-without-moment",
        "an edit is saved over a tick that its author hasn't seen",
        statement("timetable", ("save", "AND next_fire_at IS ?3", "")),
    ),
    Ablation(
        "overlap-unread",
        "the planner isn't told that a job's run hasn't ended",
        statement("timetable", ("due", "(SELECT q.state FROM queue q WHERE q.id = active_run)", "NULL")),
    ),
    Ablation(
        "late-is-missed",
        "the planner has no excuse for being late itself",
        method(planner.Planner, "_lateness", lambda *_: timedelta(0)),
    ),
    Ablation(
        "nothing-is-missed",
        "the planner excuses itself however late it is",
        method(planner.Planner, "_lateness", lambda *_: timedelta(days=1)),
    ),
    Ablation(
        "waiting-is-missed",
        "a moment that waits for its job's active run counts as missed meanwhile",
        method(domain_plan, "_was_put_off", lambda *_: False),
    ),
    Ablation("planner-drifts", "the next moment counts from when the planner looked", method(planner, "plan", _drift)),
    Ablation(
        "planner-trusts-signals",
        "the planner sleeps until it is told that something has changed",
        method(planner.Planner, "_listen", _listen_without_end),
    ),
    Ablation(
        "add-without-keys",
        "idempotency keys aren't looked up",
        statement(
            "work", ("keys_taken", "i.key = j.value ->> 1", "false"), ("take_keys", "INSERT INTO", "REPLACE INTO")
        ),
    ),
    Ablation(
        "add-without-history",
        "a repeated submission isn't compared with runs that have ended",
        statement("work", ("known", "OR EXISTS (SELECT 1 FROM history WHERE id = unhex(value))", "")),
    ),
    Ablation(
        "cancel-leaves-the-row",
        "a cancelled run stays in the queue",
        method(steer, "_cancel", _leave_the_row),
    ),
    Ablation(
        "cancel-forgotten",
        "a run that was flagged for cancellation is retried all the same",
        method(settle._Match, "state", property(lambda match: match.verdict.state)),  # noqa: SLF001
    ),
    Ablation(
        "retries-unbounded",
        "a run may fail once more than its policy allows",
        method(RetryPolicy, "exhausted_by", lambda policy, failures: failures > policy.max_retries + 1),
    ),
    Ablation(
        "losses-charged-to-all",
        "whatever was lost with a worker is charged, alone or not",
        method(outcome, "_lost", _charge),
    ),
    Ablation(
        "suspects-in-company",
        "a suspect is taken by a worker that has other work in hand",
        lambda: _both(
            patch.object(Executor, "_crowds", lambda *_: False),
            patch.object(Isolation, "_busy", property(lambda _: False)),
        ),
    ),
    Ablation("losses-unbounded", "a run may be lost for ever", method(outcome, "MAX_LOSSES", 99)),
    Ablation(
        "lock-while-held",
        "a lock is given to whoever asks",
        statement("locks", ("find", "fence, expires_at)", "fence, 0)")),
    ),
    Ablation(
        "lock-without-fence",
        "a lock is handed on under its old fence",
        statement("locks", ("take", "fence = fence + 1", "fence = fence")),
    ),
    Ablation(
        "requeue-keeps-the-letter",
        "a dead letter stays on the list when its run is requeued",
        statement(
            "work", ("resolve_dead_letters", "DELETE FROM dead_letter WHERE", "DELETE FROM dead_letter WHERE 0 AND")
        ),
    ),
)
EVERY: tuple[Ablation, ...] = (*ABLATIONS, *broker.ABLATIONS, *cassandra.ABLATIONS, *cassandra_broker.ABLATIONS)
BY_NAME = {ablation.name: ablation for ablation in EVERY}
