"""Applying verdicts: what ended moves to history, the rest waits again. One compare-and-set on the fence each."""

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from mainspring.adapters.sqlite.engine import Transaction
from mainspring.adapters.sqlite.rows import dump, micros
from mainspring.adapters.sqlite.statements import load
from mainspring.adapters.sqlite.totals import Totals, add_totals
from mainspring.domain.ids import Lane, RunId
from mainspring.domain.outcome import Settled, Verdict, fingerprint
from mainspring.domain.run import State
from mainspring.domain.suspects import waiting_lane

_SQL = load("work")


@dataclass(frozen=True, slots=True)
class _Match:
    """A verdict that met its run."""

    verdict: Verdict
    seq: int
    cancel: str | None
    owner: str
    lane: str
    kind: int

    @property
    def state(self) -> State:
        """A flagged run that didn't succeed ends cancelled, whatever its verdict says."""
        flagged = self.cancel is not None and self.verdict.state is not State.SUCCEEDED
        return State.CANCELLED if flagged else self.verdict.state

    @property
    def plain(self) -> bool:
        """A success with nothing to tell."""
        verdict = self.verdict
        return verdict.state is State.SUCCEEDED and verdict.result is None and verdict.blob is None


def settle(transaction: Transaction, verdicts: Sequence[Verdict]) -> Sequence[Settled]:
    """Apply what is current; a run named twice is judged in the order of the verdicts."""
    answers: list[Settled] = []
    for batch in _without_repeats(verdicts):
        answers += _settle(transaction, batch)
    return answers


def _settle(transaction: Transaction, verdicts: Sequence[Verdict]) -> list[Settled]:
    identities = [[verdict.run_id.hex, verdict.fence, verdict.session] for verdict in verdicts]
    rows = json.loads(transaction.value(_SQL["current"], dump(identities)))
    answers = [Settled.ACCEPTED] * len(verdicts)
    if len(rows) < len(verdicts):
        answers = _explain(transaction, identities, met={row[0] for row in rows})
    matches = [_Match(verdicts[position], *rest) for position, *rest in rows]
    _finish(transaction, [match for match in matches if match.state.terminal])
    _put_back(transaction, [match for match in matches if not match.state.terminal])
    _count(transaction, matches)
    return answers


def _without_repeats(verdicts: Sequence[Verdict]) -> Iterable[Sequence[Verdict]]:
    batch: list[Verdict] = []
    seen: set[RunId] = set()
    for verdict in verdicts:
        if verdict.run_id in seen:
            yield batch
            batch, seen = [], set()
        batch.append(verdict)
        seen.add(verdict.run_id)
    if batch:
        yield batch


def _explain(transaction: Transaction, identities: Sequence[Sequence[Any]], met: set[int]) -> list[Settled]:
    repeated = set(json.loads(transaction.value(_SQL["settled_before"], dump(identities))))
    return [
        Settled.ACCEPTED if position in met else Settled.REPEATED if position in repeated else Settled.STALE
        for position in range(len(identities))
    ]


def _finish(transaction: Transaction, matches: Sequence[_Match]) -> None:
    if not matches:
        return
    plain = [match.seq for match in matches if match.plain]
    told = [match for match in matches if not match.plain]
    if plain:
        transaction.execute(_SQL["succeed"], dump(plain), transaction.now)
    if told:
        _bury(transaction, [match for match in told if match.state is State.DEAD])
        transaction.execute(_SQL["finish"], dump([_ended_fields(match) for match in told]), transaction.now)
    transaction.execute(_SQL["leave"], dump([match.seq for match in matches]))


def _bury(transaction: Transaction, dead: Sequence[_Match]) -> None:
    """Put runs that died on the list of dead letters."""
    if not dead:
        return
    errors = {match.seq: match.verdict.error or "" for match in dead}
    letters = [
        [run_id, owner, job_id, handler, fingerprint(handler, errors[seq])]
        for seq, run_id, owner, job_id, handler in json.loads(
            transaction.value(_SQL["of_the_dead"], dump(list(errors)))
        )
    ]
    transaction.execute(_SQL["insert_dead_letters"], dump(letters), transaction.now)


def _put_back(transaction: Transaction, matches: Sequence[_Match]) -> None:
    if matches:
        transaction.execute(_SQL["put_back"], dump([_waiting_fields(match) for match in matches]), transaction.now)


def _count(transaction: Transaction, matches: Sequence[_Match]) -> None:
    totals: Totals = Totals()
    for match in matches:
        group = (match.owner, match.lane, match.kind)
        if match.state.terminal:
            totals[*group, match.state.name.lower()] += 1
        elif match.verdict.session is None and match.verdict.error is not None:
            totals[*group, "retried"] += 1
        if match.verdict.session is not None:
            totals[*group, "lost"] += 1
    add_totals(transaction, totals)


def _ended_fields(match: _Match) -> list[Any]:
    verdict = match.verdict
    cancelled = match.state is State.CANCELLED
    return [
        match.seq,
        match.state,
        verdict.attempt,
        verdict.failures,
        verdict.losses,
        None if verdict.result is None else verdict.result.hex(),
        verdict.blob,
        verdict.error,
        (match.cancel or verdict.reason) if cancelled else verdict.reason,
        verdict.log.decode(),
    ]


def _waiting_fields(match: _Match) -> list[Any]:
    verdict = match.verdict
    return [
        match.seq,
        micros(verdict.delay),
        verdict.attempt,
        verdict.failures,
        verdict.losses,
        verdict.error,
        verdict.reason,
        verdict.log.decode(),
        int(verdict.session is not None),
        waiting_lane(Lane(match.lane), suspect=verdict.suspect),
    ]
