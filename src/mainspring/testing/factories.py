"""Builders with sensible defaults. A test names only what it is about; ids are seeded, so that a failure repeats."""

from datetime import datetime, timedelta
from random import Random
from typing import Any

from mainspring.domain.ids import DEFAULT_LANE, RANDOM_BITS, JobId, RunId, new_job_id
from mainspring.domain.job import Job, NewJob, Terms
from mainspring.domain.run import Key, NewRun
from mainspring.domain.task import Task
from mainspring.ports.sessions import NewSession, Role
from mainspring.testing.clock import START

LONG = timedelta(minutes=10)
"""A time to live that no test outlives."""

_TICK = timedelta(milliseconds=1)


def a_task(**fields: Any) -> Task:
    """A task of the handler `test.echo`, unless told otherwise."""
    return Task(**{"handler": "test.echo", **fields})


def a_key(text: str, body: str = "body") -> Key:
    """An idempotency key that stands for *body*."""
    return Key(text=text, body=body.encode())


def a_session(name: str = "worker-1", **fields: Any) -> NewSession:
    """A worker that serves `test.echo` and outlives every test, unless told otherwise."""
    defaults: dict[str, Any] = {
        "role": Role.WORKER,
        "ttl": LONG,
        "host": "host-1",
        "pid": 1,
        "capacity": 8,
        "handlers": {"test.echo": DEFAULT_LANE},
    }
    return NewSession(name=name, **{**defaults, **fields})


class Factory:
    """Makes things with ids of their own; whatever is made later has the greater id."""

    def __init__(self, *, seed: int = 0, start: datetime = START) -> None:
        self._random = Random(seed)
        self._moment = start.replace(microsecond=start.microsecond // 1000 * 1000)

    @property
    def moment(self) -> datetime:
        """The time that the latest id carries, in whole milliseconds as every store can keep it."""
        return self._moment

    def id(self) -> JobId:
        """A fresh id, greater than all before."""
        self._moment += _TICK
        return new_job_id(self._moment, self._random.getrandbits(RANDOM_BITS))

    def run(self, *, job_id: JobId | None = None, task: Task | None = None, **fields: Any) -> NewRun:
        """A one-shot job due now, or a run of job *job_id*; task fields may be given directly."""
        identity = self.id()
        task_fields = {name: fields.pop(name) for name in Task.__annotations__ if name in fields}
        return NewRun(id=RunId(identity), job_id=job_id or identity, task=task or a_task(**task_fields), **fields)

    def runs(self, count: int, **fields: Any) -> list[NewRun]:
        """As many one-shot jobs, alike but for their ids."""
        return [self.run(**fields) for _ in range(count)]

    def job(self, *, fires_at: datetime | None = None, schedule: str = "@every 5m", **fields: Any) -> Job:
        """A standing job whose next moment, and wake time, is *fires_at*; without it nothing is planned."""
        identity = self.id()
        defaults: dict[str, Any] = {
            "task": a_task(),
            "created_at": self._moment,
            "updated_at": self._moment,
            "terms": Terms(schedule=schedule),
            "next_fire_at": fires_at,
            "wake_at": fires_at,
        }
        return Job(id=identity, **{**defaults, **fields})

    def new_job(self, *, key: Key | None = None, **fields: Any) -> NewJob:
        """A standing job to be stored, under *key* if one is given."""
        return NewJob(job=self.job(key=key.text if key else None, **fields), key=key)
