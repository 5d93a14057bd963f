"""From the call that submits a job to the first line of its handler, while the worker has nothing else to do."""

import random
import time

from benchmarks.figures import Figure, percentile
from benchmarks.stage import Stage

PATIENCE_SECONDS = 15.0
# Pauses of random length, so that the samples don't fall into step with a contender's polling.
SHORTEST_PAUSE, LONGEST_PAUSE = 0.005, 0.025


def measure(stage: Stage) -> list[Figure]:
    pauses = random.Random(stage.sizes.idle_starts)
    called: list[int] = []
    with stage.worker() as worker, stage.submitter(worker) as submitter:
        for number in range(stage.sizes.idle_starts):
            time.sleep(pauses.uniform(SHORTEST_PAUSE, LONGEST_PAUSE))
            called.append(submitter.ask("add", first=number).called_ns)
            if not stage.hits.wait_for(number + 1, patience_seconds=PATIENCE_SECONDS):
                break
    waits = [(hit.moment_ns - called[hit.number]) / 1e6 for hit in stage.executed()]
    return [
        Figure(name="idle_start.p50", value=percentile(waits, 50), unit="ms"),
        Figure(name="idle_start.p99", value=percentile(waits, 99), unit="ms"),
        Figure(name="idle_start.executed", value=len(waits), unit="jobs"),
    ]
