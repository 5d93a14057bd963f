"""A job as the wire shows it right after it was stored: the same text as by way of `shown_job`, faster.

Jobs that are submitted in numbers differ in little; what they have in common is written once and remembered.
"""

from datetime import datetime, timedelta
from functools import lru_cache
from typing import NamedTuple

from mainspring.api.document import write_json
from mainspring.api.representation import exceptions_of, how, instant, shown_job, when
from mainspring.api.stored import PLAIN, stored_record
from mainspring.api.words import SCHEDULED
from mainspring.domain.ids import Lane
from mainspring.domain.job import NewJob, Terms
from mainspring.domain.retry import RetryPolicy
from mainspring.domain.run import NewRun
from mainspring.domain.task import Task

_REMEMBERED = 4096


class _Terms(NamedTuple):
    description: bytes
    when: bytes
    exceptions: bytes


def stored_text(item: NewRun | NewJob, at: datetime, payload: bytes | None) -> bytes:
    """The job that *item* became at the store's *at*; *payload* is its text, or None to leave it out."""
    if isinstance(item, NewJob) or payload is None:
        return write_json(shown_job(stored_record(item, at), payload))
    task, terms = item.task, _terms(item.spec)
    due = at + item.due if isinstance(item.due, timedelta) else item.due
    created = _moment(at)
    return b"".join(
        (
            b'{"id":"',
            str(item.id).encode(),
            b'","key":',
            b"null" if item.key is None else _string(item.key.text),
            b',"name":',
            _string(item.name),
            b',"description":',
            terms.description,
            b',"handler":',
            _string(task.handler),
            b',"payload":',
            payload,
            terms.when,
            _how(task.priority, task.timeout, task.retry, task.lane),
            terms.exceptions,
            b',"owner":',
            _string(item.owner),
            b',"project_id":',
            _string(item.project),
            _STATUS,
            _moment(due),
            b',"created_at":',
            created,
            b',"updated_at":',
            created,
            b',"version":1}',
        )
    )


_STATUS = f',"status":"{SCHEDULED}","next_run_time":'.encode()


@lru_cache(maxsize=_REMEMBERED)
def _terms(spec: bytes | None) -> _Terms:
    terms = PLAIN if spec is None else Terms.from_json(spec)
    return _Terms(
        description=write_json(terms.description),
        when=_members(when(terms, one_shot=True)),
        exceptions=_members(exceptions_of(terms)),
    )


@lru_cache(maxsize=_REMEMBERED)
def _how(priority: int, timeout: timedelta, retry: RetryPolicy, lane: Lane) -> bytes:
    return _members(how(Task(handler="", priority=priority, timeout=timeout, retry=retry, lane=lane)))


@lru_cache(maxsize=_REMEMBERED)
def _string(text: str) -> bytes:
    return write_json(text)


@lru_cache(maxsize=_REMEMBERED)
def _moment(moment: datetime) -> bytes:
    return write_json(instant(moment))


def _members(members: dict[str, object]) -> bytes:
    return b"," + write_json(members)[1:-1]
