"""No-op jobs per second of worker processes that find them all stored, and what they and the server use for each."""

from benchmarks.figures import Figure
from benchmarks.stage import Stage

PATIENCE_SECONDS = 15.0


def measure(stage: Stage) -> list[Figure]:
    return _measure(stage, name="throughput", workers=1)


def measure_two(stage: Stage) -> list[Figure]:
    if not stage.contender.traits.several_workers:
        return []
    return _measure(stage, name="throughput2", workers=2)


def _measure(stage: Stage, *, name: str, workers: int) -> list[Figure]:
    stage.preload(stage.jobs)
    before = stage.server_cpu_seconds()
    with stage.workers(workers) as children:
        stage.hits.wait_for(stage.jobs, patience_seconds=PATIENCE_SECONDS)
        cpu_seconds = sum(child.cpu_seconds_of_work() for child in children)
        after = stage.server_cpu_seconds()
    moments = sorted(hit.moment_ns for hit in stage.executed())
    seconds = (moments[-1] - moments[0]) / 1e9 if len(moments) > 1 else float("inf")
    figures = [
        Figure(name=name, value=(len(moments) - 1) / seconds, unit="jobs/s"),
        Figure(name=f"{name}.cpu", value=cpu_seconds * 1000 / len(moments), unit="ms/job"),
    ]
    if before is not None and after is not None:
        server = (after - before) * 1000 / len(moments)
        figures.append(Figure(name=f"{name}.server_cpu", value=server, unit="ms/job"))
    return [*figures, Figure(name=f"{name}.executed", value=len(moments), unit="jobs")]
