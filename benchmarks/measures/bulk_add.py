"""Jobs per second added by the contender's fastest durable way."""

from benchmarks.figures import Figure
from benchmarks.stage import Stage


def measure(stage: Stage) -> list[Figure]:
    with stage.client() as client:
        answer = client.ask("add_all", first=0, count=stage.jobs)
    return [
        Figure(name="bulk_add", value=stage.jobs / answer.seconds, unit="jobs/s"),
        Figure(name="bulk_add.stored", value=stage.waiting(), unit="jobs"),
    ]
