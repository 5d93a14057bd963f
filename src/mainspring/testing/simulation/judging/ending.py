"""Properties that the end shows: what was promised against what is there."""

from collections.abc import Iterator

from mainspring.domain.ids import RunId
from mainspring.domain.job import NewJob
from mainspring.domain.run import NewRun, State
from mainspring.ports.work import Addition
from mainspring.testing.simulation.history import Answered, Applied, History
from mainspring.testing.simulation.judging.leeway import NONE, Leeway
from mainspring.testing.simulation.judging.replay import Replay
from mainspring.testing.simulation.judging.rows import Rows
from mainspring.testing.simulation.judging.verdict import Violation


def nothing_accepted_is_lost(history: History, rows: Rows) -> Iterator[Violation]:
    """P1: every id that a client was told is there."""
    known = rows.live.keys() | rows.ended.keys() | set(rows.jobs)
    for event in history.events:
        if isinstance(event, Answered) and event.verb == "work.add":
            for added in event.answer:
                if added.kind in {Addition.CREATED, Addition.EXISTING} and added.id not in known:
                    yield Violation("P1", f"{added.id} was answered as {added.kind} and is gone", event.at)


def rows_are_as_the_story_says(replay: Replay, rows: Rows) -> Iterator[Violation]:
    """P6, P1: every run is where its story ends, and no run is there that nobody made."""
    for run, model in replay.runs.items():
        state = rows.ended.get(run) or (rows.live[run].state if run in rows.live else None)
        if state is None:
            yield Violation("P1", f"run {model.name} is gone")
        elif state is not model.state:
            yield Violation("P6", f"run {model.name} is {state.name}, and its story ends as {model.state.name}")
    for stored in [*rows.live, *rows.ended]:
        if stored not in replay.runs:
            yield Violation("P2", f"nobody made run {stored}")
    if rows.skips != replay.skips:
        yield Violation("P2", f"{len(replay.skips)} ranges were skipped, {len(rows.skips)} are recorded")


def dead_letters_are_exact(history: History, replay: Replay, rows: Rows, leeway: Leeway = NONE) -> Iterator[Violation]:
    """P11: on the list is what died and wasn't requeued or discarded."""
    dead = {run for run, state in rows.ended.items() if state is State.DEAD}
    resolved = replay.discarded | replay.requeued
    for run in sorted(dead - resolved - rows.dead_letters):
        yield Violation("P11", f"dead letter {run} is missing")
    known = resolved & _resolved_for_somebody(history) if leeway.letters_follow else resolved
    for run in sorted(rows.dead_letters - (dead - known)):
        yield Violation("P11", f"dead letter {run} is listed, and should not be")


def _resolved_for_somebody(history: History) -> set[RunId]:
    """The dead letters that a client has heard to be off the list."""
    resolved: set[RunId] = set()
    for event in history.events:
        if isinstance(event, Answered) and event.verb == "work.discard":
            resolved.update(event.arguments[0])
        elif isinstance(event, Answered) and event.verb == "work.add":
            for item, added in zip(event.arguments[0], event.answer, strict=True):
                stored = added.kind in {Addition.CREATED, Addition.EXISTING}
                if stored and isinstance(item, NewRun) and item.origin is not None:
                    resolved.add(item.origin)
    return resolved


def keys_stand_for_one_job(history: History) -> Iterator[Violation]:
    """P12: whoever uses a key again with the same body is told the same job."""
    first: dict[tuple[str, str], object] = {}
    for event in history.events:
        if not isinstance(event, Applied) or event.verb != "work.add" or isinstance(event.answer, Exception):
            continue
        for item, added in zip(event.arguments[0], event.answer, strict=True):
            if item.key is None or added.kind not in {Addition.CREATED, Addition.EXISTING}:
                continue
            owner = item.job.owner if isinstance(item, NewJob) else item.owner
            if first.setdefault((owner, item.key.text), added.id) != added.id:
                yield Violation("P12", f"key {item.key.text} of {owner} stands for a second job", event.at)


def figures_equal_rows(rows: Rows) -> Iterator[Violation]:
    """The totals that nobody counts are what a count would say."""
    for group in sorted(rows.totals.keys() | rows.counted.keys()):
        if rows.totals[group] != rows.counted[group]:
            yield Violation(
                "figures", f"{group}: {rows.totals[group]} in the totals, {rows.counted[group]} in the rows"
            )


def everything_due_is_done(rows: Rows) -> Iterator[Violation]:
    """Liveness: nothing runs or waits any more but what is held or due later."""
    for run, row in rows.live.items():
        if row.state is State.RUNNING:
            yield Violation("liveness", f"run {run.hex[-6:]} is still in somebody's hands")
        elif row.due and not row.held:
            yield Violation("liveness", f"run {run.hex[-6:]} is due and still waits")


def timetables_are_on_time(rows: Rows) -> Iterator[Violation]:
    """Liveness: no moment of an active job goes without its verdict."""
    for job in rows.late_jobs:
        yield Violation("liveness", f"job {job.hex[-6:]} has a moment that came and has no verdict")
