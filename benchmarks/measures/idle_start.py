"""From the call that submits a job to the first line of its handler, while the worker has nothing else to do.

The submitter is another process, where the contender allows that; without a server it is also, as
`idle_start.one_process`, the process of the worker itself.
"""

import random
import time
from contextlib import AbstractContextManager, nullcontext

from benchmarks.figures import Figure, percentile
from benchmarks.process import Child
from benchmarks.stage import Stage

PATIENCE_SECONDS = 15.0
# Pauses of random length, so that the samples don't fall into step with a contender's polling.
SHORTEST_PAUSE, LONGEST_PAUSE = 0.005, 0.025


def measure(stage: Stage) -> list[Figure]:
    with stage.worker() as worker:
        return _measure(stage, name="idle_start", submitting=stage.submitter(worker))


def measure_one_process(stage: Stage) -> list[Figure]:
    if stage.contender.traits.server is not None:
        return []
    with stage.worker() as worker:
        return _measure(stage, name="idle_start.one_process", submitting=nullcontext(worker))


def measure_both(stage: Stage) -> list[Figure]:
    return [*measure(stage.logging_to("hits-apart")), *measure_one_process(stage)]


def _measure(stage: Stage, *, name: str, submitting: AbstractContextManager[Child]) -> list[Figure]:
    pauses = random.Random(stage.sizes.idle_starts)
    called: list[int] = []
    with submitting as submitter:
        for number in range(stage.sizes.idle_starts):
            time.sleep(pauses.uniform(SHORTEST_PAUSE, LONGEST_PAUSE))
            called.append(submitter.ask("add", first=number).called_ns)
            if not stage.hits.wait_for(number + 1, patience_seconds=PATIENCE_SECONDS):
                break
    waits = [(hit.moment_ns - called[hit.number]) / 1e6 for hit in stage.executed()]
    return [
        Figure(name=f"{name}.p50", value=percentile(waits, 50), unit="ms"),
        Figure(name=f"{name}.p99", value=percentile(waits, 99), unit="ms"),
        Figure(name=f"{name}.executed", value=len(waits), unit="jobs"),
    ]
