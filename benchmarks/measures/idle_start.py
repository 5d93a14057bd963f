"""From the call that submits a job to the first line of its handler, while the worker has nothing else to do.

The submitter is another process, where the contender allows that; without a server it is also, as
`idle_start.one_process`, the process of the worker itself.
"""

import random
import time
from contextlib import AbstractContextManager, nullcontext

from benchmarks.figures import Figure, latencies
from benchmarks.process import Child
from benchmarks.stage import Stage

PATIENCE_SECONDS = 15.0
# Pauses of random length, so that the samples don't fall into step with a contender's polling.
SHORTEST_PAUSE, LONGEST_PAUSE = 0.005, 0.025


def measure(stage: Stage) -> list[Figure]:
    return [
        *latencies("idle_start", between_processes(stage.logging_to("hits-apart"))),
        *(latencies("idle_start.one_process", waits) if (waits := in_one_process(stage)) else ()),
    ]


def between_processes(stage: Stage) -> list[float]:
    """Milliseconds from call to start."""
    with stage.worker() as worker:
        return _waits(stage, submitting=stage.submitter(worker))


def in_one_process(stage: Stage) -> list[float]:
    """The same; nothing where jobs pass through a server in any case."""
    if stage.contender.traits.server is not None:
        return []
    with stage.worker() as worker:
        return _waits(stage, submitting=nullcontext(worker))


def _waits(stage: Stage, *, submitting: AbstractContextManager[Child]) -> list[float]:
    pauses = random.Random(stage.sizes.idle_starts)
    called: list[int] = []
    with submitting as submitter:
        for number in range(stage.sizes.idle_starts):
            time.sleep(pauses.uniform(SHORTEST_PAUSE, LONGEST_PAUSE))
            called.append(submitter.ask("add", first=number).called_ns)
            if not stage.hits.wait_for(number + 1, patience_seconds=PATIENCE_SECONDS):
                break
    return [(hit.moment_ns - called[hit.number]) / 1e6 for hit in stage.executed()]
