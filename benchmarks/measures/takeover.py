"""kill -9 of one of two workers under full load, without a restart: when has the other done all that was left?"""

import time

from benchmarks.figures import Figure
from benchmarks.hits import Hit
from benchmarks.stage import Stage

PATIENCE_SECONDS = 20.0
LOOK_SECONDS = 0.25


def measure(stage: Stage) -> list[Figure]:
    if not stage.contender.traits.several_workers:
        return []
    stage.preload(stage.jobs)
    with stage.workers(2) as (doomed, _survivor):
        stage.hits.wait_for(stage.jobs // 2, patience_seconds=PATIENCE_SECONDS)
        killed_ns = time.time_ns()
        doomed.kill()
        _await_all(stage)
    return judge(stage.hits.read(), killed_ns=killed_ns, jobs=stage.jobs)


def judge(hits: list[Hit], *, killed_ns: int, jobs: int) -> list[Figure]:
    """How long after the death the last job had its first hit, unless some never had one."""
    first: dict[int, int] = {}
    for hit in hits:
        first.setdefault(hit.number, hit.moment_ns)
    missing = jobs - len(first)
    figures = [
        Figure(name="takeover.missing", value=missing, unit="jobs"),
        Figure(name="takeover.repeated", value=len(hits) - len(first), unit="runs"),
    ]
    if not missing:
        figures.append(Figure(name="takeover", value=(max(first.values()) - killed_ns) / 1e9, unit="s"))
    return figures


def _await_all(stage: Stage) -> None:
    deadline = time.monotonic() + stage.sizes.takeover.total_seconds()
    seen = -1
    while time.monotonic() < deadline:
        if (count := stage.hits.count()) != seen:
            seen = count
            if len({hit.number for hit in stage.hits.read()}) >= stage.jobs:
                return
        time.sleep(LOOK_SECONDS)
