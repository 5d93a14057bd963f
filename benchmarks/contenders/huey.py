"""Huey on its SQLite storage, durable: every enqueue and dequeue is a synchronised commit."""

from collections.abc import Sequence
from typing import Any

from huey import SqliteHuey  # type: ignore[import-untyped]  # huey ships no types

from benchmarks.base import Peer
from benchmarks.child import serve
from benchmarks.contender import Description, Job, Place, Traits
from benchmarks.hits import hit
from benchmarks.sqlite_count import count
from benchmarks.threads import from_threads

POLL_SECONDS = 0.01
DATABASE = "huey.db"
WAITING = "select (select count(*) from task) + (select count(*) from schedule)"


class HueyContender(Peer):
    description = Description(
        title="Huey (SqliteHuey)",
        settings=(
            "WAL, fsync=True (synchronous=FULL, also SQLite's default), results off, one worker thread, polling every "
            "10 ms without backoff (default: 100 ms backing off to 10 s), scheduler every 1 s (the least it allows)"
        ),
        keeps="jobs until a worker takes them; no history with results off",
        loses="the job in hand when its process is killed: it is deleted before it runs",
    )
    traits = Traits(most_jobs=20_000)

    def __init__(self) -> None:
        self._task: Any = None
        self._consumer: Any = None
        self._huey: Any = None

    def open(self, place: Place) -> None:
        self._huey = SqliteHuey("benchmark", filename=str(place.folder / DATABASE), fsync=True, results=False)
        self._task = self._huey.task()(hit)

    def work(self) -> None:
        self._consumer = self._huey.create_consumer(
            workers=1, periodic=False, initial_delay=POLL_SECONDS, max_delay=POLL_SECONDS, scheduler_interval=1
        )
        self._consumer.start()

    def add(self, job: Job) -> None:
        if job.due_at is None:
            self._task(job.number)
        else:
            self._task.schedule((job.number,), eta=job.due_at, priority=job.priority)

    def add_each(self, jobs: Sequence[Job], callers: int) -> None:
        from_threads(self.add, jobs, callers)

    def add_all(self, jobs: Sequence[Job]) -> None:
        from_threads(self.add, jobs, callers=1)

    def close(self) -> None:
        if self._consumer is not None:
            self._consumer.stop()
        self._huey.storage.close()

    def waiting(self, place: Place) -> int:
        return count(place.folder / DATABASE, WAITING)


CONTENDER = HueyContender

if __name__ == "__main__":
    serve(CONTENDER())
