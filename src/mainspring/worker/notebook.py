"""The worker's side of the journal: what is written when, and what a rewrite keeps."""

from collections.abc import Sequence

from mainspring.domain.ids import SessionId
from mainspring.domain.outcome import Verdict
from mainspring.errors import StoreError
from mainspring.logs import get_logger
from mainspring.ports.journal import Began, Finished, Journal, Note, Opened, Orphan
from mainspring.worker.execution import Execution

MAX_SIZE = 4 * 1024 * 1024

log = get_logger("mainspring.worker")


class NoJournal:
    """The journal of a machine without a state folder: after a crash, finished work may be repeated."""

    size = 0

    def append(self, notes: Sequence[Note]) -> None:
        """Nothing is kept."""

    def replay(self) -> Sequence[Note]:
        """Nothing was kept."""
        return ()

    def rewrite(self, notes: Sequence[Note]) -> None:
        """Nothing is kept."""

    def orphans(self) -> Sequence[Orphan]:
        """Nobody else's is there."""
        return ()

    def forget(self, orphan: Orphan, settled: Sequence[Verdict]) -> None:
        """Nobody else's is there."""

    def close(self) -> None:
        """Nothing is held."""


class Notebook:
    """Notes that make a crash cheaper; where they can't be written, the worker goes on: the store is the truth."""

    def __init__(self, journal: Journal) -> None:
        self._journal = journal
        self.trouble: str | None = None
        """Why notes can't be written, while they can't."""

    def append(self, notes: Sequence[Note]) -> None:
        """Write *notes* at once; they are ahead of the call or the settle that they are about."""
        try:
            self._journal.append(notes)
        except StoreError as error:
            self._complain(error)
        else:
            self.trouble = None

    @property
    def long(self) -> bool:
        """Whether a rewrite pays."""
        return self._journal.size > MAX_SIZE

    def rewrite(self, session: SessionId, executing: Sequence[Execution], unsettled: Sequence[Verdict]) -> None:
        """Keep only what a successor would need now."""
        began = [Began(each.attempt.run_id, each.attempt.fence) for each in executing]
        try:
            self._journal.rewrite([Opened(session), *began, *map(Finished, unsettled)])
        except StoreError as error:
            self._complain(error)

    def finish(self, unsettled: Sequence[Verdict]) -> None:
        """The session is closed; only what the store hasn't confirmed is left to a successor."""
        try:
            self._journal.rewrite([Finished(verdict) for verdict in unsettled])
        except StoreError as error:
            self._complain(error)

    def _complain(self, error: StoreError) -> None:
        if self.trouble is None:
            log.error("journal.unwritable", error=str(error))
        self.trouble = str(error)
