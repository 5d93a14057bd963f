"""What Mainspring must reach, by figure."""

from collections.abc import Callable
from dataclasses import dataclass
from operator import ge, le, lt

from benchmarks.figures import Summary


@dataclass(frozen=True, slots=True, kw_only=True)
class Goal:
    """A limit for the median over the rounds; a limit of zero holds for every round."""

    sign: str
    compare: Callable[[float, float], bool]
    limit: float

    @property
    def text(self) -> str:
        return f"{self.sign} {self.limit:,g}"

    def reached_by(self, summary: Summary) -> bool:
        return self.compare(summary.median if self.limit else summary.highest, self.limit)


def at_least(limit: float) -> Goal:
    return Goal(sign="≥", compare=ge, limit=limit)


def at_most(limit: float) -> Goal:
    return Goal(sign="≤", compare=le, limit=limit)


def below(limit: float) -> Goal:
    return Goal(sign="<", compare=lt, limit=limit)


SUBJECT = "mainspring"
GOALS: dict[str, Goal] = {
    "throughput": at_least(10_000),
    "bulk_add": at_least(40_000),
    "idle_start.p50": at_most(2),
    "idle_start.p99": at_most(10),
    "timer_lag.p50": at_most(2),
    "timer_lag.p99": at_most(10),
    "timer_lag.early": at_most(0),
    "idle.cpu": below(1),
    "kill.lost": at_most(0),
    "kill.left": at_most(0),
    "kill.repeated_most": at_most(1),
    "kill.journalled_repeated": at_most(0),
    "backlog.throughput.ratio": at_least(0.9),
    "backlog.idle_start.p50.ratio": at_most(1.1),
    "backlog.idle_start.p99.ratio": at_most(1.1),
    "backlog.timer_lag.p50.ratio": at_most(1.1),
    "backlog.timer_lag.p99.ratio": at_most(1.1),
    "backlog.idle.memory.ratio": at_most(1.1),
    "backlog.idle.cpu": below(1),
}
