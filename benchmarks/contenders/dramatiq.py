"""Dramatiq on Valkey."""

import math
from collections.abc import Sequence
from datetime import UTC, datetime

import redis
from dramatiq import Actor, Worker
from dramatiq.brokers.redis import RedisBroker

from benchmarks.base import Peer
from benchmarks.child import serve
from benchmarks.contender import Description, Job, Place, Server, Traits
from benchmarks.hits import hit
from benchmarks.threads import from_threads

THREADS = 16
POLL_MILLISECONDS = 10
CALLERS = 8
QUEUES = ("dramatiq:default.msgs", "dramatiq:default.DQ.msgs")


class DramatiqContender(Peer):
    description = Description(
        title="Dramatiq (Valkey)",
        settings=(
            f"appendonly and appendfsync=always, {THREADS} threads in each worker process (default 8), its default "
            f"middleware, idle polling backs off to {POLL_MILLISECONDS} ms (default 1 s); no bulk interface, added by "
            f"{CALLERS} threads"
        ),
        keeps="jobs until they ended; no history, no results (its default)",
        loses="nothing; what a dead worker held comes back a minute later at the earliest, and may run again",
    )
    # A worker holds 1,000 delayed jobs a thread in its memory and doesn't see those behind them.
    traits = Traits(server=Server.VALKEY, most_jobs=20_000, most_backlog=10_000)

    def __init__(self) -> None:
        self._broker: RedisBroker
        self._actor: Actor[[int], None]
        self._worker: Worker | None = None

    def open(self, place: Place) -> None:
        self._broker = RedisBroker(url=place.url)  # type: ignore[no-untyped-call]  # its types end here
        self._actor = Actor(hit, broker=self._broker, actor_name="hit", queue_name="default", priority=0, options={})

    def work(self) -> None:
        self._worker = Worker(self._broker, worker_threads=THREADS, worker_timeout=POLL_MILLISECONDS)
        self._worker.start()

    def add(self, job: Job) -> None:
        if job.due_at is None:
            self._actor.send(job.number)
        else:
            delay = math.ceil((job.due_at - datetime.now(UTC)).total_seconds() * 1000)
            self._actor.send_with_options(args=(job.number,), delay=delay)

    def add_each(self, jobs: Sequence[Job], callers: int) -> None:
        from_threads(self.add, jobs, callers)

    def add_all(self, jobs: Sequence[Job]) -> None:
        from_threads(self.add, jobs, CALLERS)

    def close(self) -> None:
        if self._worker is not None:
            self._worker.stop()
        self._broker.close()

    def waiting(self, place: Place) -> int:
        with redis.Redis.from_url(place.url) as client:
            return sum(int(client.hlen(queue)) for queue in QUEUES)


CONTENDER = DramatiqContender

if __name__ == "__main__":
    serve(CONTENDER())
