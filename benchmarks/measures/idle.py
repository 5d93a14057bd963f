"""What a worker with nothing to do costs, and what its server does meanwhile."""

import time

from benchmarks.figures import Figure
from benchmarks.stage import Stage

SETTLE_SECONDS = 2.0


def measure(stage: Stage) -> list[Figure]:
    span = stage.sizes.idle_span.total_seconds()
    with stage.worker() as worker:
        time.sleep(SETTLE_SECONDS)
        before, server_before, started = worker.usage(), stage.server_cpu_seconds(), time.monotonic()
        time.sleep(span)
        after, server_after, ended = worker.usage(), stage.server_cpu_seconds(), time.monotonic()
    cpu = (after.cpu_seconds - before.cpu_seconds) * 100 / (ended - started)
    figures = [
        Figure(name="idle.cpu", value=cpu, unit="%"),
        Figure(name="idle.memory", value=after.memory_bytes / 2**20, unit="MiB"),
    ]
    if server_before is not None and server_after is not None:
        server = (server_after - server_before) * 100 / (ended - started)
        figures.append(Figure(name="idle.server_cpu", value=server, unit="%"))
    return figures
