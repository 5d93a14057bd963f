"""Celery on Valkey, executed by its own worker program."""

import os
import subprocess
import sys
from collections.abc import Sequence

import redis

from benchmarks.base import Peer
from benchmarks.celery_app import BROKER, READY, app, execute
from benchmarks.child import serve
from benchmarks.contender import Description, Job, Place, Server, Traits
from benchmarks.threads import from_threads

POOL = ("--pool", "threads", "--concurrency", "8")
QUIET = ("--without-gossip", "--without-mingle", "--without-heartbeat", "--loglevel", "ERROR")
CALLERS = 8
QUEUE = "celery"
UNACKNOWLEDGED = "unacked"
STOP_SECONDS = 15.0


class CeleryContender(Peer):
    description = Description(
        title="Celery (Valkey)",
        settings=(
            "appendonly and appendfsync=always, a pool of 8 threads in each worker (default: prefork), prefetching 128 "
            "jobs a thread (default 4), acks_late, results, rate limits, gossip and heartbeats off; no bulk interface, "
            f"added by {CALLERS} threads"
        ),
        keeps="jobs until they ended; no history with results off",
        loses="nothing with acks_late; what a dead worker held comes back after an hour (its visibility timeout)",
    )
    # A worker takes all jobs with a later moment into its memory, in the order in which they were added.
    traits = Traits(server=Server.VALKEY, most_jobs=5_000, most_backlog=10_000, starts_program=True)

    def __init__(self) -> None:
        self._place: Place
        self._worker: subprocess.Popen[bytes] | None = None

    def open(self, place: Place) -> None:
        app.conf.broker_url = place.url
        self._place = place

    def work(self) -> None:
        listening, ready = os.pipe()
        command = [sys.executable, "-m", "celery", "--app", "benchmarks.celery_app", "worker", *POOL, *QUIET]
        self._worker = subprocess.Popen(  # noqa: S603 - our own application
            [*command, "--hostname", f"benchmark{self._place.process}@localhost"],
            pass_fds=[ready],
            env={**os.environ, BROKER: self._place.url, READY: str(ready)},
        )
        os.close(ready)
        os.read(listening, 1)
        os.close(listening)

    def add(self, job: Job) -> None:
        execute.apply_async((job.number,), eta=job.due_at, priority=job.priority)

    def add_each(self, jobs: Sequence[Job], callers: int) -> None:
        from_threads(self.add, jobs, callers)

    def add_all(self, jobs: Sequence[Job]) -> None:
        from_threads(self.add, jobs, CALLERS)

    def close(self) -> None:
        if self._worker is not None:
            self._worker.terminate()
            try:
                self._worker.wait(STOP_SECONDS)
            except subprocess.TimeoutExpired:
                self._worker.kill()

    def waiting(self, place: Place) -> int:
        with redis.Redis.from_url(place.url) as client:
            lists = client.scan_iter(f"{QUEUE}*", _type="list")
            return sum(int(client.llen(queue)) for queue in lists) + int(client.hlen(UNACKNOWLEDGED))


CONTENDER = CeleryContender

if __name__ == "__main__":
    serve(CONTENDER())
