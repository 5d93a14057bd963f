"""Jobs per second added by a call each: by one caller, then by many at once, once each has made its first calls."""

from benchmarks.figures import Figure
from benchmarks.process import Child
from benchmarks.stage import Stage


def measure(stage: Stage) -> list[Figure]:
    sizes = stage.sizes
    with stage.client() as client:
        alone = _rate(client, sizes.single_adds, callers=1)
        # Before that, pools are being filled: what a connection costs says nothing about an addition.
        _rate(client, sizes.first_adds, callers=sizes.callers)
        together = _rate(client, sizes.concurrent_adds, callers=sizes.callers)
    return [
        Figure(name="single_add", value=alone, unit="jobs/s"),
        Figure(name="single_add.concurrent", value=together, unit="jobs/s"),
        Figure(name="single_add.stored", value=stage.waiting(), unit="jobs"),
    ]


def _rate(client: Child, count: int, *, callers: int) -> float:
    answer = client.ask("add_each", first=0, count=count, callers=callers)
    return count / answer.seconds
