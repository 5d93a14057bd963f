"""The promise of the journal: what was finished is never begun again once its worker is back."""

import math
from collections.abc import Iterator

from mainspring.domain.ids import Fence, RunId, SessionId
from mainspring.domain.outcome import Settled
from mainspring.domain.run import State
from mainspring.ports.journal import Began, Finished
from mainspring.testing.simulation.history import Applied, Event, Handled, Happened, History, Journalled
from mainspring.testing.simulation.judging.verdict import Violation

HandOver = tuple[RunId, Fence]


class JournalJudge:
    """Follows every worker's notes beside what the store has applied."""

    def __init__(self, history: History) -> None:
        self._held: dict[HandOver, SessionId] = {}
        """Hand-overs that nobody has settled."""
        self._began: dict[str, set[HandOver]] = {}
        self._finished: dict[str, dict[HandOver, int]] = {}
        """By worker, what some life of it has noted as finished, and which life."""
        self._noted: set[HandOver] = set()
        """What any of them has noted as finished; power loss may have taken the note since."""
        self._open: dict[str, float] = {}
        """Since when each life has had a session, and so has recovered."""
        self.violations = [violation for event in history.events for violation in self._see(event)]

    def _see(self, event: Event) -> Iterator[Violation]:
        name = event.process.partition("#")[0]
        match event:
            case Journalled(notes=notes):
                for note in notes:
                    if isinstance(note, Began):
                        self._began.setdefault(name, set()).add((note.run_id, note.fence))
                    elif isinstance(note, Finished):
                        hold = (note.verdict.run_id, note.verdict.fence)
                        self._finished.setdefault(name, {})[hold] = _life(event)
                        self._noted.add(hold)
            case Handled(what="began"):
                if (event.run, event.fence) not in self._began.get(name, ()):
                    yield Violation("journal", f"{event.run.hex[-6:]}/{event.fence} began without a note", event.at)
            case Happened(what=what) if what.startswith("lost power"):
                self._finished.pop(name, None)
            case Applied(answer=answer) if not isinstance(answer, Exception):
                yield from self._apply(event, name)
            case _:
                pass

    def _apply(self, event: Applied, name: str) -> Iterator[Violation]:
        match event.verb:
            case "work.claim":
                for attempt in event.answer.attempts:
                    self._held[attempt.run_id, attempt.fence] = attempt.session
            case "work.settle":
                yield from self._settle(event)
            case "sessions.open" if name.startswith("worker"):
                self._open.setdefault(event.process, event.at)
                for hold, life in self._finished.get(name, {}).items():
                    if life < _life(event) and hold in self._held:
                        text = f"{name} works again, and what it had finished of {hold[0].hex[-6:]} isn't settled"
                        yield Violation("journal", text, event.at)
            case _:
                pass

    def _settle(self, event: Applied) -> Iterator[Violation]:
        for verdict, answer in zip(event.arguments[0], event.answer, strict=True):
            hold = (verdict.run_id, verdict.fence)
            self._held.pop(hold, None)
            recovered = event.sent >= self._open.get(event.process, math.inf)
            counts = answer is not Settled.STALE and verdict.session is None
            if recovered and counts and hold not in self._noted:
                state = State(verdict.state).name
                yield Violation(
                    "journal", f"{hold[0].hex[-6:]}/{hold[1]} was settled as {state} without a note", event.at
                )


def _life(event: Event) -> int:
    return int(event.process.partition("#")[2])
