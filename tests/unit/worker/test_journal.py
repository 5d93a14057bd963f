import os
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mainspring.adapters.files.journal import _MAGIC, FileJournal, file_stem
from mainspring.domain.ids import Fence, RunId, SessionId
from mainspring.domain.outcome import Verdict
from mainspring.domain.run import State
from mainspring.errors import ConfigurationError, StoreFull, StoreReadOnly
from mainspring.ports.journal import Began, Finished, Journal, Note, Opened
from mainspring.testing.contracts.journal import JournalContract, some_notes

run_ids = st.uuids().map(RunId)
fences = st.integers(0, 2**62).map(Fence)
counts = st.integers(0, 2**32 - 1)
verdicts = st.builds(
    Verdict,
    run_id=run_ids,
    fence=fences,
    session=st.none() | st.integers(0, 2**62).map(SessionId),
    state=st.sampled_from(State),
    delay=st.timedeltas(),
    attempt=counts,
    failures=counts,
    losses=counts,
    result=st.none() | st.binary(max_size=50),
    blob=st.none() | st.text(max_size=10),
    error=st.none() | st.text(max_size=50),
    reason=st.none() | st.text(max_size=50),
    log=st.binary(max_size=50),
)
successes = st.builds(
    Verdict,
    run_id=run_ids,
    fence=fences,
    state=st.just(State.SUCCEEDED),
    attempt=counts,
    failures=counts,
    losses=counts,
)
notes_of_any_kind = (
    st.builds(Opened, st.integers(0, 2**62).map(SessionId))
    | st.builds(Began, run_ids, fences)
    | st.builds(Finished, verdicts | successes)
)


class TestFileJournal(JournalContract):
    @pytest.fixture
    def open_journal(self, tmp_path: Path) -> Callable[[], Journal]:
        return lambda: FileJournal(tmp_path / "journal", "worker-1")


@pytest.fixture
def journal(tmp_path: Path) -> Iterator[FileJournal]:
    opened = FileJournal(tmp_path, "worker-1")
    yield opened
    opened.close()


def written(folder: Path, notes: list[Note]) -> tuple[Path, int]:
    """The journal's file, and how much of it says something: the rest is there to be written to."""
    journal = FileJournal(folder, "worker-1")
    journal.rewrite(())
    for note in notes:
        journal.append([note])
    journal.close()
    path = folder / "worker-1.journal"
    return path, len(_MAGIC) + journal.size


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(notes_of_any_kind, max_size=20))
def test_every_note_is_read_as_it_was_written(tmp_path: Path, notes: list[Note]) -> None:
    written(tmp_path, notes)
    with closing(FileJournal(tmp_path, "worker-1")) as journal:
        assert list(journal.replay()) == notes


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(notes_of_any_kind, max_size=8), st.data())
def test_whatever_is_cut_off_leaves_the_notes_before_it(tmp_path: Path, notes: list[Note], data: st.DataObject) -> None:
    path, length = written(tmp_path, notes)
    os.truncate(path, data.draw(st.integers(0, length)))
    check_that_a_successor_reads_a_beginning(tmp_path, notes)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(notes_of_any_kind, max_size=8), st.data())
def test_whatever_is_damaged_leaves_the_notes_before_it(tmp_path: Path, notes: list[Note], data: st.DataObject) -> None:
    path, length = written(tmp_path, notes)
    text = path.read_bytes()
    start, damage = data.draw(st.integers(0, length)), data.draw(st.binary(max_size=40))
    rest = data.draw(st.sampled_from((b"", text[start + len(damage) :])))
    path.write_bytes(text[:start] + damage + rest)
    check_that_a_successor_reads_a_beginning(tmp_path, notes)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(notes_of_any_kind, min_size=1, max_size=8), st.data())
def test_a_flipped_bit_leaves_the_notes_before_it(tmp_path: Path, notes: list[Note], data: st.DataObject) -> None:
    path, length = written(tmp_path, notes)
    text = bytearray(path.read_bytes())
    position = data.draw(st.integers(0, length - 1))
    text[position] ^= 1 << data.draw(st.integers(0, 7))
    path.write_bytes(text)
    check_that_a_successor_reads_a_beginning(tmp_path, notes)


def check_that_a_successor_reads_a_beginning(folder: Path, notes: list[Note]) -> None:
    with closing(FileJournal(folder, "worker-1")) as successor:
        kept = list(successor.replay())
        assert kept == notes[: len(kept)]
        addition = Opened(SessionId(7))
        successor.append([addition])
        assert list(successor.replay()) == [*kept, addition]


@pytest.mark.usefixtures("journal")
def test_a_second_process_under_the_same_name_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="another process runs under the name 'worker-1'"):
        FileJournal(tmp_path, "worker-1")
    FileJournal(tmp_path, "worker-2").close()


def test_the_name_stays_taken_across_a_rewrite(tmp_path: Path, journal: FileJournal) -> None:
    journal.rewrite(some_notes())
    with pytest.raises(ConfigurationError):
        FileJournal(tmp_path, "worker-1")


def test_closing_twice_changes_nothing(tmp_path: Path, journal: FileJournal) -> None:
    journal.close()
    journal.close()
    FileJournal(tmp_path, "worker-1").close()


def test_a_reopened_journal_knows_its_size(tmp_path: Path, journal: FileJournal) -> None:
    journal.append(some_notes())
    size = journal.size
    journal.close()
    successor = FileJournal(tmp_path, "worker-1")
    assert successor.size == size
    successor.close()


@pytest.mark.parametrize("name", ["../../etc/passwd", "a/b", "..", "", "ä" * 100, "x" * 300, "a b\0c"])
def test_any_name_makes_a_file_in_the_folder(tmp_path: Path, name: str) -> None:
    FileJournal(tmp_path, name).close()
    assert len(list(tmp_path.iterdir())) == 2


def test_long_names_that_begin_alike_have_files_of_their_own() -> None:
    assert file_stem("x" * 300 + "a") != file_stem("x" * 300 + "b")


def test_a_folder_that_cannot_be_made_is_a_matter_of_configuration(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(ConfigurationError, match="can't be used"):
        FileJournal(tmp_path / "file" / "journal", "worker-1")


def refuse_space(*_: object) -> None:
    raise OSError(28, "No space left on device")


def test_notes_that_do_not_fit_leave_nothing_behind(journal: FileJournal, monkeypatch: pytest.MonkeyPatch) -> None:
    journal.append(some_notes())
    monkeypatch.setattr("mainspring.adapters.files.journal._reserve", refuse_space)
    journal.append(some_notes())  # there is room for these: it was asked for before
    with pytest.raises(StoreFull, match="No space left"):
        journal.append(many_notes())
    monkeypatch.undo()
    journal.append(many_notes())
    assert list(journal.replay()) == some_notes() * 2 + many_notes()


def test_a_successor_on_a_full_disk_reads_and_goes_on(tmp_path: Path, journal: FileJournal) -> None:
    journal.append(some_notes())
    journal.close()
    room = (tmp_path / "worker-1.journal").stat().st_blocks
    with closing(FileJournal(tmp_path, "worker-1")) as successor:
        assert list(successor.replay()) == some_notes()
        successor.append(some_notes())
        assert (tmp_path / "worker-1.journal").stat().st_blocks == room


def test_a_rewrite_that_does_not_fit_leaves_the_notes_as_they_are(
    journal: FileJournal, monkeypatch: pytest.MonkeyPatch
) -> None:
    journal.append(some_notes())
    monkeypatch.setattr("mainspring.adapters.files.journal._reserve", refuse_space)
    with pytest.raises(StoreFull, match="No space left"):
        journal.rewrite([])
    journal.append(some_notes())
    assert list(journal.replay()) == some_notes() * 2


def test_the_disk_is_asked_for_all_that_may_be_written(journal: FileJournal, tmp_path: Path) -> None:
    journal.append(many_notes())
    file = (tmp_path / "worker-1.journal").stat()
    assert file.st_size > journal.size
    assert file.st_blocks * 512 >= file.st_size  # which is what the field counts in


def many_notes() -> list[Note]:
    """More than the journal has room for at first."""
    return [Opened(SessionId(number)) for number in range(100_000)]


def test_a_rewrite_that_cannot_open_its_file_says_so(tmp_path: Path, journal: FileJournal) -> None:
    (tmp_path / "worker-1.new").mkdir()
    journal.append(some_notes())
    with pytest.raises(StoreReadOnly):
        journal.rewrite([])
    assert list(journal.replay()) == some_notes()
