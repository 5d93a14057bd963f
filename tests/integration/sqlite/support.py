import os
from datetime import UTC, datetime, timedelta

from mainspring.domain.ids import DEFAULT_LANE, RunId, new_job_id
from mainspring.domain.run import NewRun
from mainspring.domain.task import Task
from mainspring.ports.sessions import NewSession, Role


class RealClock:
    def now(self) -> datetime:
        return datetime.now(UTC)


def new_run(payload: bytes = b"null") -> NewRun:
    identifier = new_job_id(datetime.now(UTC), int.from_bytes(os.urandom(10), "big"))
    return NewRun(id=RunId(identifier), job_id=identifier, task=Task(handler="test.echo", payload=payload))


def new_session(name: str = "w") -> NewSession:
    return NewSession(role=Role.WORKER, name=name, ttl=timedelta(minutes=5), handlers={"test.echo": DEFAULT_LANE})
