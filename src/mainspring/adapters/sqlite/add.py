"""Storing new runs and standing jobs, each once."""

import json
from collections.abc import Sequence
from typing import Any
from uuid import UUID

from mainspring.adapters.sqlite.audit import append
from mainspring.adapters.sqlite.engine import Transaction
from mainspring.adapters.sqlite.new_runs import encoded
from mainspring.adapters.sqlite.rows import dump, identity, task_fields, to_instant, to_micros
from mainspring.adapters.sqlite.statements import load
from mainspring.adapters.sqlite.totals import add_totals
from mainspring.domain.job import NewJob
from mainspring.domain.run import NewRun
from mainspring.ports.work import Added, Addition, Note

_SQL = load("work")
_Item = NewRun | NewJob


def add(
    transaction: Transaction, items: Sequence[_Item], *, together: bool, note: Note | None = None
) -> Sequence[Added]:
    """Store what is new; the answer for each item says what became of it."""
    answers = _judge(transaction, items)
    if together and any(answer.kind is Addition.CONFLICT for answer in answers):
        return _withheld(answers)
    created = [item for item, answer in zip(items, answers, strict=True) if answer.kind is Addition.CREATED]
    runs = [item for item in created if isinstance(item, NewRun)]
    jobs = [item for item in created if isinstance(item, NewJob)]
    _take_keys(transaction, created)
    insert_runs(transaction, runs, _standing(transaction, runs))
    if jobs:
        transaction.execute(_SQL["insert_jobs"], dump([_job_fields(item) for item in jobs]))
    if note is not None:
        append(transaction, note(answers))
    return answers


def insert_runs(transaction: Transaction, runs: Sequence[NewRun], standing: frozenset[str]) -> None:
    """Store runs that are known to be new; *standing* holds the ids of those jobs among theirs that are standing."""
    if not runs:
        return
    rows, totals = encoded(runs, transaction.now, standing)
    transaction.execute(_SQL["insert_runs"], rows, transaction.now)
    origins = [run.origin.hex for run in runs if run.origin is not None]
    if origins:
        transaction.execute(_SQL["resolve_dead_letters"], dump(origins))
    add_totals(transaction, totals)


def known_ids(transaction: Transaction, ids: Sequence[str]) -> frozenset[str]:
    """Those of *ids* (hexadecimal digits) that are stored already."""
    return frozenset(json.loads(transaction.value(_SQL["known"], dump(ids)))) if ids else frozenset()


def _judge(transaction: Transaction, items: Sequence[_Item]) -> list[Added]:
    identities = [_id(item) for item in items]
    digits = [identifier.hex for identifier in identities]
    seen = set(known_ids(transaction, digits))
    taken = _keys_taken(transaction, items)
    answers = []
    now = to_instant(transaction.now)
    for item, identifier, name in zip(items, identities, digits, strict=True):
        key = item.key
        earlier = None if key is None else taken.get((_owner(item), key.text))
        if earlier is not None and key is not None:
            kind = Addition.EXISTING if earlier[1] == key.body else Addition.CONFLICT
            answers.append(Added(kind, earlier[0]))
            continue
        answers.append(Added(Addition.EXISTING if name in seen else Addition.CREATED, identifier, now))
        seen.add(name)
        if key is not None:
            taken[_owner(item), key.text] = (identifier, key.body)
    return answers


def _keys_taken(transaction: Transaction, items: Sequence[_Item]) -> dict[tuple[str, str], tuple[UUID, bytes]]:
    asked = [(_owner(item), item.key.text) for item in items if item.key is not None]
    if not asked:
        return {}
    rows = json.loads(transaction.value(_SQL["keys_taken"], dump(asked)))
    return {(owner, key): (identity(digits), bytes.fromhex(body)) for owner, key, digits, body in rows}


def _take_keys(transaction: Transaction, created: Sequence[_Item]) -> None:
    rows = [
        [_owner(item), item.key.text, _id(item).hex, item.key.body.hex()] for item in created if item.key is not None
    ]
    if rows:
        transaction.execute(_SQL["take_keys"], dump(rows), transaction.now)


def _standing(transaction: Transaction, runs: Sequence[NewRun]) -> frozenset[str]:
    asked = sorted({run.job_id.hex for run in runs if not run.one_shot})
    return frozenset(json.loads(transaction.value(_SQL["standing"], dump(asked)))) if asked else frozenset()


def _withheld(answers: Sequence[Added]) -> Sequence[Added]:
    """What is new isn't stored after all, nor is what repeats it in the same batch."""
    new = {answer.id for answer in answers if answer.kind is Addition.CREATED}
    return [
        Added(Addition.WITHHELD, answer.id) if answer.id in new and answer.kind is not Addition.CONFLICT else answer
        for answer in answers
    ]


def _id(item: _Item) -> UUID:
    return item.id if isinstance(item, NewRun) else item.job.id


def _owner(item: _Item) -> str:
    return item.owner if isinstance(item, NewRun) else item.job.owner


def _job_fields(item: NewJob) -> list[Any]:
    job = item.job
    return [
        job.id.hex,
        job.owner,
        job.project,
        job.name,
        job.key,
        job.state,
        job.version,
        job.terms.to_json().hex(),
        to_micros(job.created_at),
        to_micros(job.updated_at),
        None if job.next_fire_at is None else to_micros(job.next_fire_at),
        None if job.wake_at is None else to_micros(job.wake_at),
        *task_fields(job.task),
    ]
