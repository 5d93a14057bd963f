"""The application that Celery's own worker program loads in the benchmarks."""

import os

from celery import Celery, signals  # type: ignore[import-untyped]  # Celery ships no types

from benchmarks.hits import hit

BROKER = "BENCHMARK_BROKER"
READY = "BENCHMARK_READY"
"""Number of the descriptor on which a worker says that it is up."""

app = Celery("benchmark", broker=os.environ.get(BROKER, ""))
app.conf.update(
    task_ignore_result=True,
    # Acknowledged after the work, not before it: otherwise a death loses everything that was prefetched.
    task_acks_late=True,
    # For short tasks its guide to optimizing suggests 64 or 128 instead of 4.
    worker_prefetch_multiplier=128,
    worker_disable_rate_limits=True,
    task_create_missing_queues=True,
    broker_connection_retry_on_startup=True,
)
execute = app.task(name="hit")(hit)


@signals.worker_ready.connect  # type: ignore[untyped-decorator]  # Celery ships no types
def say_so(**_: object) -> None:
    os.write(int(os.environ[READY]), b".")
