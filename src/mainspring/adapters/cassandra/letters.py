"""Dead letters and hidden jobs: what people have dealt with."""

from collections.abc import Sequence

from mainspring.adapters.cassandra.context import Context
from mainspring.adapters.cassandra.index import of_resolved_run
from mainspring.adapters.cassandra.layout import home_of, month_of
from mainspring.adapters.cassandra.records import state_of
from mainspring.adapters.cassandra.rows import Change, Row
from mainspring.adapters.cassandra.runs import decide, read
from mainspring.adapters.cassandra.tables import DEAD
from mainspring.adapters.cassandra.values import identity
from mainspring.domain.ids import JobId, RunId
from mainspring.domain.run import State
from mainspring.errors import StoreUnavailable

_TRIES = 16


async def discard(context: Context, runs: Sequence[RunId]) -> Sequence[bool]:
    """Cross out those that are on the list.

    Those that are crossed out already, too: whoever did so may have reached a single replica, and got no answer. What
    it shows to us, the others might never show to anybody else.
    """
    rows = await read(context, runs)
    answers = []
    crossed_out: set[RunId] = set()
    for run in runs:
        row = rows.get(run)
        if row is None or state_of(row) is not State.DEAD or run in crossed_out:
            answers.append(False)
            continue
        answers.append(await _is_listed(context, row))
        await context.rows.put([of_resolved_run(row)])
        crossed_out.add(run)
    return answers


async def hide(context: Context, job: JobId) -> bool:
    """Only one-shot jobs that live no longer than their cancellation; what nobody sees is no dead letter either."""
    for _ in range(_TRIES):
        row = (await read(context, [job], settled=True)).get(job)
        if row is None or row["job_id"] != row["id"]:
            return False
        if not state_of(row).terminal and (state_of(row) is State.WAITING or row["cancel"] is None):
            return False
        expected: Row = {"fence": row["fence"], "state": row["state"]}
        change = Change(key=(row["id"],), values={"hidden": True}, expected=expected)
        if (await decide(context, home_of(job), [change])).applied:
            if state_of(row) is State.DEAD:
                await context.rows.put([of_resolved_run(row)])
            return True
    raise StoreUnavailable(f"run {job} changed as often as it was hidden")


async def _is_listed(context: Context, row: Row) -> bool:
    partition = (row["owner"], month_of(identity(row, "id")))
    letters = await context.rows.get(DEAD, partition, [(row["id"],)])
    return any(not letter["resolved"] for letter in letters)
