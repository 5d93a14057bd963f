"""Applying verdicts: what ended moves to history, the rest waits again. One compare-and-set on the fence each.

Successes, nearly all there is, are one statement that compares and moves at once. The others are decided here, on rows
that are locked: what becomes of them depends on whether somebody has asked for their cancellation.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from mainspring.adapters.postgres.bounds import earliest_end
from mainspring.adapters.postgres.engine import Connection, Engine, Purpose
from mainspring.adapters.postgres.rows import Row, text
from mainspring.adapters.postgres.statements import load
from mainspring.adapters.postgres.tally import Entry, count
from mainspring.domain.ids import Lane, RunId
from mainspring.domain.outcome import Settled, Verdict, fingerprint
from mainspring.domain.run import State
from mainspring.domain.suspects import waiting_lane

_SQL = load("work")


@dataclass(frozen=True, slots=True)
class _Match:
    """A verdict that met its run."""

    verdict: Verdict
    cancel: str | None
    owner: str
    lane: str
    kind: int
    handler: str

    @property
    def state(self) -> State:
        """A flagged run that didn't succeed ends cancelled, whatever its verdict says."""
        flagged = self.cancel is not None and self.verdict.state is not State.SUCCEEDED
        return State.CANCELLED if flagged else self.verdict.state


async def settle(engine: Engine, verdicts: Sequence[Verdict]) -> Sequence[Settled]:
    """Apply what is current; a run named twice is judged in the order of the verdicts."""
    answers: list[Settled] = []
    for batch in _without_repeats(verdicts):
        answers += await _settle(engine, batch)
    return answers


async def _settle(engine: Engine, verdicts: Sequence[Verdict]) -> Sequence[Settled]:
    successes = [verdict for verdict in verdicts if _is_success(verdict)]
    others = [] if len(successes) == len(verdicts) else [each for each in verdicts if not _is_success(each)]
    refused = await _succeed(engine, successes) if successes else []
    if others:
        refused += await engine.write(partial(_decide, verdicts=others), Purpose.SETTLE)
    if not refused:
        return [Settled.ACCEPTED] * len(verdicts)
    return await _explained(engine, verdicts, refused)


def _without_repeats(verdicts: Sequence[Verdict]) -> Iterable[Sequence[Verdict]]:
    if len({verdict.run_id for verdict in verdicts}) == len(verdicts):
        return [verdicts] if verdicts else []
    batches: list[list[Verdict]] = [[]]
    seen: set[RunId] = set()
    for verdict in verdicts:
        if verdict.run_id in seen:
            batches.append([])
            seen.clear()
        batches[-1].append(verdict)
        seen.add(verdict.run_id)
    return batches


async def _explained(engine: Engine, verdicts: Sequence[Verdict], refused: Sequence[Verdict]) -> Sequence[Settled]:
    """Which of the refused say what was settled before."""
    ids = [verdict.run_id for verdict in refused]
    rows = await engine.fetch(_SQL["settled_before"], ids, earliest_end(ids), purpose=Purpose.SETTLE)
    before = {(run_id, fence) for run_id, fence in rows}
    answers = {
        verdict.run_id: Settled.REPEATED if (verdict.run_id, verdict.fence) in before else Settled.STALE
        for verdict in refused
    }
    return [answers.get(verdict.run_id, Settled.ACCEPTED) for verdict in verdicts]


def _is_success(verdict: Verdict) -> bool:
    return verdict.state is State.SUCCEEDED and verdict.session is None


async def _succeed(engine: Engine, verdicts: Sequence[Verdict]) -> list[Verdict]:
    """Let runs end well; the verdicts that didn't meet theirs come back."""
    ids = [verdict.run_id for verdict in verdicts]
    fences = [verdict.fence for verdict in verdicts]
    if all(verdict.result is None and verdict.blob is None for verdict in verdicts):
        accepted = await engine.value(_SQL["succeed"], ids, fences, purpose=Purpose.SETTLE)
    else:
        told = zip(*(_told_fields(verdict) for verdict in verdicts), strict=True)
        accepted = await engine.value(_SQL["succeed_with"], ids, fences, *told, purpose=Purpose.SETTLE)
    if accepted is None:
        return []
    met = set(accepted)
    return [verdict for verdict in verdicts if verdict.run_id not in met]


def _told_fields(verdict: Verdict) -> tuple[Any, ...]:
    if verdict.result is None and verdict.blob is None:
        return (None,) * 6
    return verdict.result, verdict.blob, verdict.attempt, verdict.failures, verdict.losses, verdict.log


async def _decide(connection: Connection, verdicts: Sequence[Verdict]) -> list[Verdict]:
    """Settle whatever isn't a success; the verdicts that didn't meet their runs come back."""
    rows = await connection.fetch(_SQL["lock_runs"], [verdict.run_id for verdict in verdicts])
    live = {row[0]: row for row in rows}
    matches, refused = [], []
    for verdict in verdicts:
        row = live.get(verdict.run_id)
        if row is not None and _current(verdict, row):
            matches.append(_Match(verdict, *row[4:]))
        else:
            refused.append(verdict)
    await _finish(connection, [match for match in matches if match.state.terminal])
    await _put_back(connection, [match for match in matches if not match.state.terminal])
    await count(connection, [entry for match in matches for entry in _entries(match)])
    return refused


def _current(verdict: Verdict, row: Row) -> bool:
    """Whether this is the run that the verdict was made for. A loss needs the session too."""
    _, fence, session, state = row[:4]
    return fence == verdict.fence and (
        verdict.session is None or (session == verdict.session and state == State.RUNNING)
    )


async def _finish(connection: Connection, matches: Sequence[_Match]) -> None:
    if matches:
        await connection.execute(_SQL["finish"], *zip(*(_ended_fields(match) for match in matches), strict=True))


async def _put_back(connection: Connection, matches: Sequence[_Match]) -> None:
    if matches:
        await connection.execute(_SQL["put_back"], *zip(*(_waiting_fields(match) for match in matches), strict=True))


def _entries(match: _Match) -> Iterable[Entry]:
    verdict = match.verdict
    lost = verdict.session is not None
    if match.state.terminal:
        yield match.owner, match.lane, match.kind, match.state.name.lower(), verdict.run_id
    elif not lost and verdict.error is not None:
        yield match.owner, match.lane, match.kind, "retried", verdict.run_id
    if lost:
        yield match.owner, match.lane, match.kind, "lost", verdict.run_id


def _ended_fields(match: _Match) -> tuple[Any, ...]:
    verdict, state = match.verdict, match.state
    cancelled = state is State.CANCELLED
    return (
        verdict.run_id,
        state,
        verdict.attempt,
        verdict.failures,
        verdict.losses,
        verdict.result,
        verdict.blob,
        text(verdict.error),
        text((match.cancel or verdict.reason) if cancelled else verdict.reason),
        verdict.log,
        fingerprint(match.handler, verdict.error or "") if state is State.DEAD else None,
    )


def _waiting_fields(match: _Match) -> tuple[Any, ...]:
    verdict = match.verdict
    return (
        verdict.run_id,
        verdict.delay,
        verdict.attempt,
        verdict.failures,
        verdict.losses,
        text(verdict.error),
        text(verdict.reason),
        verdict.log,
        verdict.session is not None,
        waiting_lane(Lane(match.lane), suspect=verdict.suspect),
    )
