"""A worker's own notes: what it began and what came of it, kept where kill -9 can't reach them."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from mainspring.domain.ids import Fence, RunId, SessionId
from mainspring.domain.outcome import Verdict


@dataclass(frozen=True, slots=True)
class Opened:
    """From here on, runs are held by this session."""

    session: SessionId


@dataclass(frozen=True, slots=True)
class Began:
    """The handler of this hand-over was about to be called."""

    run_id: RunId
    fence: Fence


@dataclass(frozen=True, slots=True)
class Finished:
    """This came of it; the store may or may not know yet."""

    verdict: Verdict


Note = Opened | Began | Finished


@dataclass(frozen=True, slots=True, kw_only=True)
class Orphan:
    """What a worker of the same store, on the same machine, had finished when it died; it hasn't come back since."""

    name: str
    finished: Sequence[Verdict]
    """Whatever the store has heard of it: settling it again changes nothing."""


class Journal(Protocol):
    """One process writes, its successor of the same name reads. A torn last note is dropped, never misread.

    What a worker had finished is true whoever tells the store, so that others on the machine may do so once it is dead.
    A worker that is only paused isn't. Nothing else that it noted concerns anybody but its successor.
    """

    def append(self, notes: Sequence[Note]) -> None:
        """Add notes with one write; they survive the death of the process once this returns."""
        ...

    def replay(self) -> Sequence[Note]:
        """All notes since the last rewrite, in order."""
        ...

    def rewrite(self, notes: Sequence[Note]) -> None:
        """Replace everything by *notes*, whole or not at all: what was settled is forgotten."""
        ...

    def orphans(self) -> Sequence[Orphan]:
        """What dead workers had finished and nobody is known to have settled, each until it is forgotten."""
        ...

    def forget(self, orphan: Orphan, settled: Sequence[Verdict]) -> None:
        """Drop what is *settled* from the orphan's notes, unless its worker has come back."""
        ...

    @property
    def size(self) -> int:
        """Bytes since the last rewrite, to decide when another pays."""
        ...

    def close(self) -> None:
        """Let a successor have it."""
        ...
