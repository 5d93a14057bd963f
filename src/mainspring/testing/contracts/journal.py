"""The `Journal` port: what a worker wrote is what its successor reads. Torn notes are the business of file adapters."""

from collections.abc import Callable
from datetime import timedelta

import pytest

from mainspring.domain.ids import BlobId, Fence, RunId, SessionId
from mainspring.domain.outcome import Verdict
from mainspring.domain.run import State
from mainspring.ports.journal import Began, Finished, Journal, Note, Opened
from mainspring.testing.factories import Factory


def some_notes() -> list[Note]:
    """A session with runs that began, succeeded, were retried and handed back, every field used somewhere."""
    make = Factory(seed=7)
    first, second = RunId(make.id()), RunId(make.id())
    succeeded = Verdict(
        run_id=first,
        fence=Fence(2**40),
        state=State.SUCCEEDED,
        attempt=3,
        failures=2,
        losses=1,
        result=b'\x00\n"\xff',
        blob=BlobId("b" * 64),
        log=b"[]",
    )
    retried = Verdict(
        run_id=second,
        fence=Fence(1),
        session=SessionId(9),
        state=State.WAITING,
        delay=timedelta(days=400, microseconds=1),
        attempt=1,
        failures=1,
        losses=0,
        error="line\nbreak \u00e4\U0001f4a5",
        reason="because",
    )
    return [
        Opened(SessionId(9)),
        Began(first, Fence(2**40)),
        Began(second, Fence(1)),
        Finished(succeeded),
        Finished(retried),
    ]


class JournalContract:
    """All that is asked of `Journal`; an adapter gives `open_journal`."""

    @pytest.fixture
    def open_journal(self) -> Callable[[], Journal]:
        """Opens the journal of one worker; again after the last one was closed."""
        raise NotImplementedError("the adapter's fixtures come first among the bases")

    def test_a_new_journal_is_empty(self, open_journal: Callable[[], Journal]) -> None:
        journal = open_journal()
        assert list(journal.replay()) == []
        journal.close()

    def test_notes_are_replayed_in_order_by_the_successor(self, open_journal: Callable[[], Journal]) -> None:
        journal = open_journal()
        for note in some_notes():
            journal.append([note])
        journal.append(some_notes())
        journal.append([])
        journal.close()
        successor = open_journal()
        assert list(successor.replay()) == some_notes() * 2
        successor.close()

    def test_the_successor_writes_on(self, open_journal: Callable[[], Journal]) -> None:
        for _ in range(3):
            journal = open_journal()
            journal.append(some_notes())
            journal.close()
        last = open_journal()
        assert list(last.replay()) == some_notes() * 3
        last.close()

    def test_a_rewrite_replaces_everything(self, open_journal: Callable[[], Journal]) -> None:
        notes = some_notes()
        journal = open_journal()
        journal.append(notes)
        journal.rewrite(notes[:2])
        assert list(journal.replay()) == notes[:2]
        journal.append(notes[3:])
        assert list(journal.replay()) == notes[:2] + notes[3:]
        journal.close()
        successor = open_journal()
        assert list(successor.replay()) == notes[:2] + notes[3:]
        successor.rewrite([])
        successor.close()
        last = open_journal()
        assert list(last.replay()) == []
        last.close()

    def test_the_size_grows_with_notes_and_shrinks_by_a_rewrite(self, open_journal: Callable[[], Journal]) -> None:
        journal = open_journal()
        sizes = [journal.size]
        for _ in range(3):
            journal.append(some_notes())
            sizes.append(journal.size)
        assert sizes == sorted(set(sizes))
        journal.rewrite([])
        assert journal.size <= sizes[0]
        journal.close()

    def test_reading_does_not_disturb_writing(self, open_journal: Callable[[], Journal]) -> None:
        notes = some_notes()
        journal = open_journal()
        for number, note in enumerate(notes):
            assert list(journal.replay()) == notes[:number]
            journal.append([note])
        journal.close()
