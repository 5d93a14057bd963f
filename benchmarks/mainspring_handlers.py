"""The handler that Mainspring's worker executes in the benchmarks."""

from benchmarks.hits import hit
from mainspring.worker.registry import handler


@handler("benchmark.hit")
async def execute(payload: int) -> None:
    hit(payload)
