"""Which contenders are compared with which form of Mainspring; a peer may stand in several groups."""

from collections.abc import Sequence
from dataclasses import dataclass

from benchmarks import goals
from benchmarks.goals import Goals


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    name: str
    title: str
    subject: str
    peers: tuple[str, ...]
    goals: Goals

    @property
    def contenders(self) -> tuple[str, ...]:
        return (self.subject, *self.peers)


GROUPS = {
    "embedded": Group(
        name="embedded",
        title="Embedded: one process and a file",
        subject="mainspring",
        peers=("huey", "apscheduler"),
        goals=goals.EMBEDDED,
    ),
    "postgres": Group(
        name="postgres",
        title="PostgreSQL: many processes and machines",
        subject="mainspring_postgres",
        peers=("pgqueuer", "graphile_worker", "procrastinate", "dramatiq", "celery", "huey", "apscheduler"),
        goals=goals.POSTGRES,
    ),
}


def contenders(groups: Sequence[str]) -> list[str]:
    """All contenders of *groups*, each once."""
    return list(dict.fromkeys(name for group in groups for name in GROUPS[group].contenders))
