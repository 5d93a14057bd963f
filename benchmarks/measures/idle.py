"""What a worker with nothing to do costs."""

import time

from benchmarks.figures import Figure
from benchmarks.stage import Stage

SETTLE_SECONDS = 2.0


def measure(stage: Stage) -> list[Figure]:
    span = stage.sizes.idle_span.total_seconds()
    with stage.worker() as worker:
        time.sleep(SETTLE_SECONDS)
        before, started = worker.usage(), time.monotonic()
        time.sleep(span)
        after, ended = worker.usage(), time.monotonic()
    cpu = (after.cpu_seconds - before.cpu_seconds) * 100 / (ended - started)
    return [
        Figure(name="idle.cpu", value=cpu, unit="%"),
        Figure(name="idle.memory", value=after.memory_bytes / 2**20, unit="MiB"),
    ]
