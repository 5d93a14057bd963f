"""Applying verdicts: one conditional batch per home, on the fence of each run.

The process that was handed a run knows its row, and settles without a read: the condition then says all that matters,
that the run is still in these hands and that nobody has asked for its end. What the condition refuses is read, judged
by what is there, and tried again.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from uuid import UUID

from mainspring.adapters.cassandra.abreast import abreast
from mainspring.adapters.cassandra.context import Context
from mainspring.adapters.cassandra.intents import Intents
from mainspring.adapters.cassandra.layout import home_of
from mainspring.adapters.cassandra.ledger import Noted
from mainspring.adapters.cassandra.rows import Put, Row
from mainspring.adapters.cassandra.runs import Home, batches, decide, read
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
    answers: dict[RunId, Settled] = {}
    happened: list[Noted] = []
    open_ = {verdict.run_id: verdict for verdict in verdicts}
    rows = await _rows(context, intents, verdicts)
    try:
        for _ in range(_TRIES):
            plans = _plans(open_, rows, context.now(), answers)
            applied = await _apply(context, plans)
            answers |= dict.fromkeys(applied, Settled.ACCEPTED)
            happened += [plans[run_id].noted for run_id in applied]
            open_ = {run_id: verdict for run_id, verdict in open_.items() if run_id not in answers}
            if not open_:
                return [answers[verdict.run_id] for verdict in verdicts]
            rows = await read(context, open_, settled=True)
    finally:
        for run_id in answers:
            intents.settled(run_id)
        context.ledger.note_soon(happened)
    raise StoreUnavailable(f"{len(open_)} runs changed as often as they were settled")


async def _rows(context: Context, intents: Intents, verdicts: Sequence[Verdict]) -> Mapping[UUID, Row]:
    """The rows as they were handed over here; of runs that others were handed, as they are."""
    known: dict[UUID, Row] = {}
    for verdict in verdicts:
        row = intents.row(verdict.run_id, verdict.fence)
        if row is not None:
            known[verdict.run_id] = row
    unknown = [verdict.run_id for verdict in verdicts if verdict.run_id not in known]
    return {**known, **(await read(context, unknown))}


def _plans(
    open_: Mapping[RunId, Verdict], rows: Mapping[UUID, Row], now: int, answers: dict[RunId, Settled]
) -> Mapping[RunId, Plan]:
    """How to apply what can be applied; the rest is answered."""
    plans: dict[RunId, Plan] = {}
    for run_id, verdict in open_.items():
        planned = plan(verdict, rows.get(run_id), now)
        if isinstance(planned, Plan):
            plans[run_id] = planned
        else:
            answers[run_id] = planned
    return plans


async def _apply(context: Context, plans: Mapping[RunId, Plan]) -> Sequence[RunId]:
    """Carry out *plans*, what leads to the truth before it, and return those that nothing stood against."""
    entries: list[Put] = [entry for planned in plans.values() for entry in planned.entries]
    if entries:
        await context.index(entries)
    homes: defaultdict[Home, list[RunId]] = defaultdict(list)
    for run_id in plans:
        homes[home_of(run_id)].append(run_id)

    async def apply(home: Home) -> Sequence[RunId]:
        applied: list[RunId] = []
        for batch in batches([plans[run_id].change for run_id in homes[home]]):
            applied += map(RunId, (await decide(context, home, batch)).applied)
        return applied

    return [run_id for applied in await abreast(apply, [*homes]) for run_id in applied]


def _without_repeats(verdicts: Sequence[Verdict]) -> Iterable[Sequence[Verdict]]:
    batch: dict[RunId, Verdict] = {}
    for verdict in verdicts:
        if verdict.run_id in batch:
            yield [*batch.values()]
            batch = {}
        batch[verdict.run_id] = verdict
    if batch:
        yield [*batch.values()]
