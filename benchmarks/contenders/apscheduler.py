"""APScheduler 3 with SQLAlchemy's job store on SQLite, durable: every change is a synchronised commit."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from apscheduler.executors.pool import ThreadPoolExecutor  # type: ignore[import-untyped]  # ships no types
from apscheduler.jobstores.sqlalchemy import SQLAlchemyJobStore  # type: ignore[import-untyped]  # ships no types
from apscheduler.schedulers.background import BackgroundScheduler  # type: ignore[import-untyped]  # ships no types
from sqlalchemy import Engine, create_engine, event

from benchmarks.base import Peer
from benchmarks.child import serve
from benchmarks.contender import Description, Job, Place, Traits
from benchmarks.hits import hit
from benchmarks.sqlite_count import count
from benchmarks.threads import from_threads

DATABASE = "apscheduler.db"


class APSchedulerContender(Peer):
    description = Description(
        title="APScheduler 3 (SQLAlchemyJobStore)",
        settings=(
            "SQLite with WAL and synchronous=FULL (default: rollback journal), ten threads (its default), "
            "misfire_grace_time=None (with its default of 1 s, jobs that wait longer are dropped)"
        ),
        keeps="jobs until they are handed to a thread; no history",
        loses="what waited in the thread pool of a killed process; other processes' additions go unnoticed",
    )
    traits = Traits(adds_only_in_worker=True, several_workers=False, most_jobs=20_000)

    def __init__(self) -> None:
        self._scheduler: Any = None

    def open(self, place: Place) -> None:
        self._scheduler = BackgroundScheduler(
            jobstores={"default": SQLAlchemyJobStore(engine=_engine(place.folder / DATABASE))},
            executors={"default": ThreadPoolExecutor(10)},
            job_defaults={"misfire_grace_time": None},
            timezone="UTC",
        )
        # Paused, the scheduler writes additions to its store and executes none.
        self._scheduler.start(paused=True)

    def work(self) -> None:
        self._scheduler.resume()

    def add(self, job: Job) -> None:
        self._scheduler.add_job(hit, "date", run_date=job.due_at, args=(job.number,))

    def add_each(self, jobs: Sequence[Job], callers: int) -> None:
        from_threads(self.add, jobs, callers)

    def add_all(self, jobs: Sequence[Job]) -> None:
        from_threads(self.add, jobs, callers=1)

    def close(self) -> None:
        self._scheduler.shutdown(wait=False)

    def waiting(self, place: Place) -> int:
        return count(place.folder / DATABASE, "select count(*) from apscheduler_jobs")


def _engine(database: Path) -> Engine:
    engine = create_engine(f"sqlite:///{database}")

    @event.listens_for(engine, "connect")
    def _durable(connection: Any, _record: object) -> None:
        connection.execute("pragma journal_mode=wal")
        connection.execute("pragma synchronous=full")

    return engine


CONTENDER = APSchedulerContender

if __name__ == "__main__":
    serve(CONTENDER())
