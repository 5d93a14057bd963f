"""No-op jobs per second of one worker process that finds them all stored."""

from benchmarks.figures import Figure
from benchmarks.stage import Stage

PATIENCE_SECONDS = 15.0


def measure(stage: Stage) -> list[Figure]:
    stage.preload(stage.sizes.jobs)
    with stage.worker() as worker:
        stage.hits.wait_for(stage.sizes.jobs, patience_seconds=PATIENCE_SECONDS)
        cpu_seconds = worker.cpu_seconds_of_work()
    moments = sorted(hit.moment_ns for hit in stage.executed())
    seconds = (moments[-1] - moments[0]) / 1e9 if len(moments) > 1 else float("inf")
    return [
        Figure(name="throughput", value=(len(moments) - 1) / seconds, unit="jobs/s"),
        Figure(name="throughput.cpu", value=cpu_seconds * 1000 / len(moments), unit="ms/job"),
        Figure(name="throughput.executed", value=len(moments), unit="jobs"),
    ]
