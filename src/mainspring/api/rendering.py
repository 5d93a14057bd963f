"""A job as the wire shows it right after it was stored: the same text as by way of `shown_job`, faster.

Jobs that are submitted in numbers differ in little; what they have in common is written once and remembered.
"""

from collections.abc import Mapping
from datetime import datetime, timedelta
from functools import lru_cache
from typing import NamedTuple

from mainspring.api.composing import Pattern
from mainspring.api.document import write_json
from mainspring.api.representation import exceptions_of, how, instant, shown_job, when
from mainspring.api.stored import stored_record
from mainspring.api.words import SCHEDULED
from mainspring.domain.ids import Lane
from mainspring.domain.job import NewJob
from mainspring.domain.run import NewRun

_REMEMBERED = 1024


class _Frame(NamedTuple):
    """What stands before and after the payload."""

    before: bytes
    after: bytes


def stored_text(item: NewRun | NewJob, at: datetime, payload: bytes, pattern: Pattern) -> bytes:
    """The job that *item* of that *pattern* became at the store's *at*; *payload* is its text."""
    if isinstance(item, NewJob):
        return write_json(shown_job(stored_record(item, at), payload))
    frame = _frame(pattern, item.owner, item.task.lane)
    due = at + item.due if isinstance(item.due, timedelta) else item.due
    created = _moment(at)
    return b"".join(
        (
            b'{"id":"',
            str(item.id).encode(),
            b'","key":',
            b"null" if item.key is None else write_json(item.key.text),
            frame.before,
            payload,
            frame.after,
            _moment(due),
            b',"created_at":',
            created,
            b',"updated_at":',
            created,
            b',"version":1}',
        )
    )


@lru_cache(maxsize=_REMEMBERED)
def _frame(pattern: Pattern, owner: str, lane: Lane) -> _Frame:
    request, terms = pattern.request, pattern.timing.terms
    before = {"name": request.name, "description": request.description, "handler": request.handler}
    after = {
        **when(terms, one_shot=True),
        **how(pattern.task(b"", lane)),
        **exceptions_of(terms),
        "owner": owner,
        "project_id": request.project_id,
        "status": SCHEDULED,
    }
    return _Frame(_members(before) + b',"payload":', _members(after) + b',"next_run_time":')


@lru_cache(maxsize=_REMEMBERED)
def _moment(moment: datetime) -> bytes:
    return write_json(instant(moment))


def _members(members: Mapping[str, object]) -> bytes:
    return b"," + write_json(members)[1:-1]
