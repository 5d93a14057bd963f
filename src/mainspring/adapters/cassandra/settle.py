"""Applying verdicts: one conditional batch per home, on the fence of each run.

The process that was handed a run knows its row, and settles without a read: the condition then says all that matters,
that the run is still in these hands and that nobody has asked for its end. What the condition refuses is read, judged
by what is there, and tried again.

Runs go by the numbers of their ids here: hashing a UUID costs five times as much.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

from mainspring.adapters.cassandra.abreast import abreast
from mainspring.adapters.cassandra.context import Context
from mainspring.adapters.cassandra.intents import Intents
from mainspring.adapters.cassandra.layout import home_of
from mainspring.adapters.cassandra.ledger import Noted
from mainspring.adapters.cassandra.rows import Change, Put, Row
from mainspring.adapters.cassandra.runs import Home, batches, changed_run, decide, read
from mainspring.adapters.cassandra.verdicts import Plan, plan
from mainspring.domain.ids import RunId
from mainspring.domain.outcome import Settled, Verdict
from mainspring.errors import StoreUnavailable

_TRIES = 8


async def settle(context: Context, intents: Intents, verdicts: Sequence[Verdict]) -> Sequence[Settled]:
    """Apply what is current; a run named twice is judged in the order of the verdicts."""
    answers: list[Settled] = []
    for batch in _without_repeats(verdicts):
        answers += await _settle(context, intents, batch)
    await intents.merge()
    return answers


async def _settle(context: Context, intents: Intents, verdicts: Sequence[Verdict]) -> Sequence[Settled]:
    answers: dict[int, Settled] = {}
    happened: list[Noted] = []
    open_ = {verdict.run_id.int: verdict for verdict in verdicts}
    rows = await _rows(context, intents, verdicts)
    try:
        for _ in range(_TRIES):
            plans = _plans(open_, rows, context.now(), answers)
            applied = await _apply(context, plans)
            answers |= dict.fromkeys(applied, Settled.ACCEPTED)
            happened += [plans[run].noted for run in applied]
            open_ = {run: verdict for run, verdict in open_.items() if run not in answers}
            if not open_:
                return [answers[verdict.run_id.int] for verdict in verdicts]
            rows = await _read(context, [verdict.run_id for verdict in open_.values()], settled=True)
    finally:
        for verdict in verdicts:
            if verdict.run_id.int in answers:
                intents.settled(verdict.run_id.int, verdict.fence)
        context.ledger.note_soon(happened)
    raise StoreUnavailable(f"{len(open_)} runs changed as often as they were settled")


async def _rows(context: Context, intents: Intents, verdicts: Sequence[Verdict]) -> Mapping[int, Row]:
    """The rows as they were handed over here; of runs that others were handed, as they are."""
    known: dict[int, Row] = {}
    unknown: list[RunId] = []
    for verdict in verdicts:
        row = intents.row(verdict.run_id, verdict.fence)
        if row is None:
            unknown.append(verdict.run_id)
        else:
            known[verdict.run_id.int] = row
    return {**known, **(await _read(context, unknown))} if unknown else known


async def _read(context: Context, runs: Iterable[RunId], *, settled: bool = False) -> Mapping[int, Row]:
    return {run_id.int: row for run_id, row in (await read(context, runs, settled=settled)).items()}


def _plans(
    open_: Mapping[int, Verdict], rows: Mapping[int, Row], now: int, answers: dict[int, Settled]
) -> Mapping[int, Plan]:
    """How to apply what can be applied; the rest is answered."""
    plans: dict[int, Plan] = {}
    for run, verdict in open_.items():
        planned = plan(verdict, rows.get(run), now)
        if isinstance(planned, Plan):
            plans[run] = planned
        else:
            answers[run] = planned
    return plans


async def _apply(context: Context, plans: Mapping[int, Plan]) -> Sequence[int]:
    """Carry out *plans*, what leads to the truth before it, and return those that nothing stood against."""
    entries: list[Put] = [entry for planned in plans.values() for entry in planned.entries]
    if entries:
        await context.index(entries)
    homes: defaultdict[Home, list[Change]] = defaultdict(list)
    for planned in plans.values():
        homes[home_of(changed_run(planned.change))].append(planned.change)

    async def apply(home: Home) -> Sequence[int]:
        applied: list[int] = []
        for batch in batches(homes[home]):
            applied += [run_id.int for run_id in (await decide(context, home, batch)).applied]
        return applied

    return [run for applied in await abreast(apply, [*homes]) for run in applied]


def _without_repeats(verdicts: Sequence[Verdict]) -> Iterable[Sequence[Verdict]]:
    batch: dict[int, Verdict] = {}
    for verdict in verdicts:
        if verdict.run_id.int in batch:
            yield [*batch.values()]
            batch = {}
        batch[verdict.run_id.int] = verdict
    if batch:
        yield [*batch.values()]
