"""What Mainspring must reach, by group and figure: limits of its own, and ratios to peers measured in the same run."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from operator import ge, le, lt

from benchmarks.figures import TIMES, Results, Summary


@dataclass(frozen=True, slots=True, kw_only=True)
class Goal:
    """A limit for the median over the rounds; a limit of zero holds for every round.

    With a *peer* the limit counts in that peer's median, or in its best round.
    """

    sign: str
    compare: Callable[[float, float], bool]
    limit: float
    peer: str = ""
    best_round: bool = False

    @property
    def text(self) -> str:
        if not self.peer:
            return f"{self.sign} {self.limit:,g}"
        times = "" if self.limit == 1 else f"{self.limit:g} {TIMES} "
        rounds = "'s best" if self.best_round else ""
        return f"{self.sign} {times}{self.peer}{rounds}"

    def verdict(self, figure: str, own: Summary, results: Results) -> bool | None:
        """Whether *own* reaches it; None if the peer that it is about has no such figure."""
        value = own.median if self.limit else own.highest
        if not self.peer:
            return self.compare(value, self.limit)
        peer = results.get((figure, self.peer))
        if peer is None:
            return None
        return self.compare(value, self.limit * (peer.highest if self.best_round else peer.median))


def at_least(limit: float, peer: str = "", *, best_round: bool = False) -> Goal:
    return Goal(sign="≥", compare=ge, limit=limit, peer=peer, best_round=best_round)


def at_most(limit: float) -> Goal:
    return Goal(sign="≤", compare=le, limit=limit)


def below(limit: float, peer: str = "") -> Goal:
    return Goal(sign="<", compare=lt, limit=limit, peer=peer)


Goals = Mapping[str, tuple[Goal, ...]]

NOTHING_LOST: Goals = {
    "timer_lag.early": (at_most(0),),
    "kill.lost": (at_most(0),),
    "kill.stranded": (at_most(0),),
    "kill.left": (at_most(0),),
    "kill.repeated_most": (at_most(1),),
    "kill.journalled_repeated": (at_most(0),),
}

EMBEDDED: Goals = {
    **NOTHING_LOST,
    "throughput": (at_least(10_000),),
    "bulk_add": (at_least(40_000),),
    "idle_start.one_process.p50": (at_most(2),),
    "idle_start.one_process.p99": (at_most(10),),
    "timer_lag.p50": (at_most(2),),
    "timer_lag.p99": (at_most(10),),
    "idle.cpu": (below(1),),
    "backlog.throughput.ratio": (at_least(0.9),),
    "backlog.idle_start.one_process.p50.ratio": (at_most(1.1),),
    "backlog.idle_start.one_process.p99.ratio": (at_most(1.1),),
    "backlog.timer_lag.p50.ratio": (at_most(1.1),),
    "backlog.timer_lag.p99.ratio": (at_most(1.1),),
    "backlog.idle.memory.ratio": (at_most(1.1),),
    "backlog.idle.cpu": (below(1),),
}

TTL_SECONDS = 15

POSTGRES: Goals = {
    **NOTHING_LOST,
    "throughput": (at_least(1.8, "graphile_worker", best_round=True), at_least(3, "pgqueuer")),
    "throughput2": (at_least(1.6, "graphile_worker", best_round=True), at_least(2.2, "pgqueuer")),
    "throughput.cpu": (at_most(0.03),),
    "throughput.server_cpu": (at_most(0.035),),
    "bulk_add": (at_least(1.7, "pgqueuer"),),
    "single_add.concurrent": (at_least(10, "pgqueuer"),),
    "idle_start.p50": (at_most(3.5), below(1, "pgqueuer"), below(1, "graphile_worker")),
    "idle_start.p99": (at_most(12), below(1, "pgqueuer"), below(1, "graphile_worker")),
    "timer_lag.p50": (at_most(2),),
    "timer_lag.p99": (at_most(8),),
    "kill.back": (at_most(2),),
    "takeover": (at_most(TTL_SECONDS + 1),),
    "takeover.missing": (at_most(0),),
    "sessions.server_cpu": (below(5),),
    "backlog.throughput": (at_least(8, "graphile_worker"),),
    "backlog.throughput.ratio": (at_least(0.85),),
    "backlog.throughput2.ratio": (at_least(0.85),),
    "backlog.idle_start.p50": (at_most(5),),
    "backlog.timer_lag.p99": (at_most(10),),
}
