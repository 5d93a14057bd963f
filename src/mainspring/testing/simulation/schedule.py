"""One schedule: a world that lives through its faults, heals, and is then judged."""

import logging
import math
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass

import structlog

from mainspring.domain.reschedule import paused
from mainspring.errors import Conflict, NotFound
from mainspring.ports.work import Release
from mainspring.testing.simulation.history import History
from mainspring.testing.simulation.judging import ending
from mainspring.testing.simulation.judging.journal import JournalJudge
from mainspring.testing.simulation.judging.leeway import Leeway
from mainspring.testing.simulation.judging.locks import locks_exclude
from mainspring.testing.simulation.judging.misfires import MisfireJudge
from mainspring.testing.simulation.judging.replay import Replay
from mainspring.testing.simulation.judging.rows import Rows
from mainspring.testing.simulation.judging.verdict import Violation
from mainspring.testing.simulation.storage import Store
from mainspring.testing.simulation.universe import Stuck
from mainspring.testing.simulation.world import World

FAULTS_UNTIL = 30.0
ON_TIME_AFTER = 15.0
"""Seconds after healing by which every timetable must have caught up."""
QUIET_AFTER = 240.0
"""Seconds after healing by which everything must be done: longer than the longest backstop and all retries."""


@dataclass(frozen=True, slots=True)
class Report:
    """What came of a schedule."""

    seed: int
    steps: int
    runs: int
    violations: tuple[Violation, ...]
    history: History

    @property
    def digest(self) -> str:
        """Equal for equal histories."""
        return self.history.digest()


def run(seed: int, store: Store = Store.SQLITE) -> Report:
    """Live through the schedule of this seed and judge it."""
    with _quietly():
        world = World(seed, store)
        try:
            violations, runs = _live(world)
        finally:
            world.end()
    return Report(seed, world.universe.steps, runs, tuple(violations), world.history)


def _live(world: World) -> tuple[list[Violation], int]:
    violations: list[Violation] = []
    try:
        world.universe.run_until(FAULTS_UNTIL)
        world.heal()
        world.universe.run_until(FAULTS_UNTIL + ON_TIME_AFTER)
        violations += ending.timetables_are_on_time(world.storage.rows())
        rows = _settle_down(world)
    except Stuck as error:
        return [Violation("liveness", str(error))], 0
    violations += [Violation("neighbours", f"nobody settled what {name} had finished") for name in world.unsettled()]
    violations += [Violation("defect", text) for text in world.universe.complaints]
    violations += _judge(world.history, rows, world.storage.leeway)
    return sorted(violations, key=lambda violation: violation.at if violation.at >= 0 else math.inf), len(rows.ended)


def _settle_down(world: World) -> Rows:
    """Wait until nothing is left to do, while a keeper pauses every standing job and lets go what is held."""
    while True:
        rows = world.storage.rows()
        clients_done = not any(client.alive for client in world.clients)
        # A job that is still active may be about to fire: what was decided is stored a moment later.
        done = clients_done and not rows.live and not rows.active_jobs
        if done or world.universe.time >= FAULTS_UNTIL + QUIET_AFTER:
            return rows
        for job in rows.active_jobs:
            record = world.storage.ask("views.job", job)
            if record is not None:
                with suppress(Conflict, NotFound):  # a client was faster; there will be another time
                    world.storage.ask("timetable.save", paused(record.job), record.job, ())
        for run, row in rows.live.items():
            if row.held:
                world.storage.ask("work.steer", run, Release())
        world.universe.run_until(world.universe.time + 2.0)


def _judge(history: History, rows: Rows, leeway: Leeway) -> list[Violation]:
    replay = Replay(history, leeway)
    return [
        *replay.violations,
        *JournalJudge(history).violations,
        *MisfireJudge(history).violations,
        *locks_exclude(history),
        *ending.nothing_accepted_is_lost(history, rows),
        *ending.rows_are_as_the_story_says(replay, rows),
        *ending.dead_letters_are_exact(history, replay, rows, leeway),
        *ending.keys_stand_for_one_job(history),
        *ending.figures_equal_rows(rows),
        *ending.everything_due_is_done(rows),
    ]


@contextmanager
def _quietly() -> Iterator[None]:
    """A simulated cluster says in a second what a real one says in an hour; its history tells more."""
    before = structlog.get_config()
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.CRITICAL))
    try:
        yield
    finally:
        structlog.configure(**before)
