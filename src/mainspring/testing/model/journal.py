"""A journal whose disk is a list."""

from collections.abc import Sequence

from mainspring.domain.outcome import Verdict
from mainspring.ports.journal import Note, Orphan


class MemoryJournal:
    """The `Journal` port; *disk* outlives it."""

    def __init__(self, disk: list[Note]) -> None:
        self._disk = disk
        self._size = 0

    def append(self, notes: Sequence[Note]) -> None:
        """At the end."""
        self._disk.extend(notes)
        self._size += sum(len(repr(note)) for note in notes)

    def replay(self) -> Sequence[Note]:
        """From the beginning."""
        return list(self._disk)

    def rewrite(self, notes: Sequence[Note]) -> None:
        """In place of all that was there."""
        self._disk[:] = notes
        self._size = 0

    def orphans(self) -> Sequence[Orphan]:
        """This worker has no neighbours."""
        return ()

    def forget(self, orphan: Orphan, settled: Sequence[Verdict]) -> None:
        """This worker has no neighbours."""

    @property
    def size(self) -> int:
        """As long as the notes print."""
        return self._size

    def close(self) -> None:
        """There is nothing to let go of."""
