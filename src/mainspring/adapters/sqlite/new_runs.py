"""New runs as one text. Most of a batch are alike but for their ids and payloads: what they share is written once."""

from collections.abc import Iterable
from datetime import timedelta
from operator import attrgetter
from typing import Any

from mainspring.adapters.sqlite.rows import dump, micros, task_fields, to_micros
from mainspring.adapters.sqlite.totals import Totals
from mainspring.domain.run import NewRun, Origin

_PAYLOAD = -2
"""Where it stands among a run's fields; the id is the first."""


def encoded(runs: Iterable[NewRun], now: int, standing: frozenset[str]) -> tuple[str, Totals]:
    """The rows as `insert_runs` takes them at *now*, and what is to be counted; *standing* as there."""
    totals: Totals = Totals()
    rows: list[str] = []
    alike: tuple[object, ...] = ()
    middle, end, group = "", "", ("", "", 0, "added")
    for run in runs:
        job_id = None if run.one_shot else run.job_id.hex
        before, alike = alike, (job_id, *_own(run), *_terms(run.task))
        if alike != before:
            due = now + micros(run.due) if isinstance(run.due, timedelta) else to_micros(run.due)
            kind = _kind(run, due, now, standing)
            fields = _fields(run, job_id, kind, due)
            middle, end = dump(fields[1:_PAYLOAD])[1:-1], dump(fields[_PAYLOAD + 1 :])[1:]
            group = (run.owner, run.task.lane, int(kind), "added")
        totals[group] += 1
        rows.append(f'["{run.id.hex}",{middle},"{run.task.payload.hex()}",{end}')
    return f"[{','.join(rows)}]", totals


_own = attrgetter("origin", "owner", "project", "name", "key", "spec", "due")
_terms = attrgetter("handler", "lane", "priority", "timeout", "retry", "trace", "blob")
"""All of a task but its payload."""


def _kind(run: NewRun, due: int, now: int, standing: frozenset[str]) -> Origin:
    if standing and run.job_id.hex in standing:
        return Origin.RECURRING
    return Origin.DELAYED if due > now else Origin.IMMEDIATE


def _fields(run: NewRun, job_id: str | None, kind: Origin, due: int) -> list[Any]:
    return [
        run.id.hex,
        job_id,
        None if run.origin is None else run.origin.hex,
        run.owner,
        run.project,
        run.name,
        None if run.key is None else run.key.text,
        None if run.spec is None else run.spec.hex(),
        kind,
        due,
        *task_fields(run.task),
    ]
