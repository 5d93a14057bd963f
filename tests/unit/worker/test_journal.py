import os
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from pathlib import Path
from uuid import UUID

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from structlog.testing import capture_logs

from mainspring.adapters.files import notes as codec
from mainspring.adapters.files.journal import FileJournal, _glance, file_stem
from mainspring.domain.ids import Fence, RunId, SessionId
from mainspring.domain.outcome import Verdict
from mainspring.domain.run import State
from mainspring.errors import ConfigurationError, StoreFull, StoreReadOnly
from mainspring.ports.journal import Began, Finished, Journal, Note, Opened, Orphan
from mainspring.testing.contracts.journal import JournalContract, some_notes
from tests.descriptors import no_descriptor_left

STORE = "0123456789abcdef0123456789abcdef"
FILE = f"worker-1@{STORE}.journal"

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
    suspect=st.booleans(),
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
        return lambda: FileJournal(tmp_path / "journal", "worker-1", STORE)


@pytest.fixture
def journal(tmp_path: Path) -> Iterator[FileJournal]:
    opened = FileJournal(tmp_path, "worker-1", STORE)
    yield opened
    opened.close()


def written(folder: Path, notes: list[Note]) -> tuple[Path, int]:
    """The journal's file, and how much of it says something: the rest is there to be written to."""
    journal = FileJournal(folder, "worker-1", STORE)
    journal.rewrite(())
    for note in notes:
        journal.append([note])
    journal.close()
    path = folder / FILE
    return path, path.read_bytes().index(b"\n") + 1 + journal.size


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(notes_of_any_kind, max_size=20))
def test_every_note_is_read_as_it_was_written(tmp_path: Path, notes: list[Note]) -> None:
    written(tmp_path, notes)
    with closing(FileJournal(tmp_path, "worker-1", STORE)) as journal:
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
    with closing(FileJournal(folder, "worker-1", STORE)) as successor:
        kept = list(successor.replay())
        assert kept == notes[: len(kept)]
        addition = Opened(SessionId(7))
        successor.append([addition])
        assert list(successor.replay()) == [*kept, addition]


@pytest.mark.usefixtures("journal")
def test_a_second_process_under_the_same_name_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="another process runs under the name 'worker-1'"):
        FileJournal(tmp_path, "worker-1", STORE)
    FileJournal(tmp_path, "worker-2", STORE).close()


def test_the_name_stays_taken_across_a_rewrite(tmp_path: Path, journal: FileJournal) -> None:
    journal.rewrite(some_notes())
    with pytest.raises(ConfigurationError):
        FileJournal(tmp_path, "worker-1", STORE)


def test_closing_twice_changes_nothing(tmp_path: Path, journal: FileJournal) -> None:
    journal.close()
    journal.close()
    FileJournal(tmp_path, "worker-1", STORE).close()


def test_a_reopened_journal_knows_its_size(tmp_path: Path, journal: FileJournal) -> None:
    journal.append(some_notes())
    size = journal.size
    journal.close()
    successor = FileJournal(tmp_path, "worker-1", STORE)
    assert successor.size == size
    successor.close()


@pytest.mark.parametrize("name", ["../../etc/passwd", "a/b", "..", "", "ä" * 100, "x" * 300, "a b\0c"])
def test_any_name_makes_a_file_in_the_folder(tmp_path: Path, name: str) -> None:
    FileJournal(tmp_path, name, STORE).close()
    assert len(list(tmp_path.iterdir())) == 2


def test_long_names_that_begin_alike_have_files_of_their_own() -> None:
    assert file_stem("x" * 300 + "a") != file_stem("x" * 300 + "b")


def test_a_folder_that_cannot_be_made_is_a_matter_of_configuration(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(ConfigurationError, match="can't be used"):
        FileJournal(tmp_path / "file" / "journal", "worker-1", STORE)


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
    room = (tmp_path / FILE).stat().st_blocks
    with closing(FileJournal(tmp_path, "worker-1", STORE)) as successor:
        assert list(successor.replay()) == some_notes()
        successor.append(some_notes())
        assert (tmp_path / FILE).stat().st_blocks == room


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
    file = (tmp_path / FILE).stat()
    assert file.st_size > journal.size
    assert file.st_blocks * 512 >= file.st_size  # which is what the field counts in


def many_notes() -> list[Note]:
    """More than the journal has room for at first."""
    return [Opened(SessionId(number)) for number in range(100_000)]


def test_a_rewrite_that_cannot_open_its_file_says_so(tmp_path: Path, journal: FileJournal) -> None:
    (tmp_path / f"worker-1@{STORE}.new").mkdir()
    journal.append(some_notes())
    with pytest.raises(StoreReadOnly):
        journal.rewrite([])
    assert list(journal.replay()) == some_notes()


def finished(*numbers: int) -> list[Note]:
    return [Finished(a_success(number)) for number in numbers]


def a_success(number: int) -> Verdict:
    return Verdict(
        run_id=RunId(UUID(int=number)), fence=Fence(1), state=State.SUCCEEDED, attempt=1, failures=0, losses=0
    )


def leave(folder: Path, notes: list[Note], *, name: str = "worker-1", identity: str = STORE) -> Path:
    """What a dead worker has written."""
    with closing(FileJournal(folder, name, identity)) as journal:
        journal.append(notes)
    return folder / f"{name}@{identity}.journal"


@pytest.fixture
def survivor(tmp_path: Path) -> Iterator[FileJournal]:
    opened = FileJournal(tmp_path, "survivor", STORE)
    yield opened
    opened.close()


def runs_of(orphans: Sequence[Orphan]) -> list[int]:
    return [verdict.run_id.int for orphan in orphans for verdict in orphan.finished]


def test_a_survivor_finds_what_the_dead_had_finished_until_it_is_settled(tmp_path: Path, survivor: FileJournal) -> None:
    began = [Began(RunId(UUID(int=number)), Fence(1)) for number in (1, 2, 3)]
    leave(tmp_path, [Opened(SessionId(9)), *began, *finished(1, 2)])
    [orphan] = survivor.orphans()
    assert (orphan.name, runs_of([orphan])) == ("worker-1", [1, 2])
    survivor.forget(orphan, orphan.finished[:1])
    with closing(FileJournal(tmp_path, "worker-1", STORE)) as back:
        assert list(back.replay()) == [Opened(SessionId(9)), *began[1:], *finished(2)]


def test_a_journal_without_finished_work_is_read_once(
    tmp_path: Path, survivor: FileJournal, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = leave(tmp_path, [Opened(SessionId(9))])
    assert not survivor.orphans()
    monkeypatch.setattr(Path, "read_bytes", lambda _: pytest.fail("it was read again"))
    assert not survivor.orphans()
    monkeypatch.undo()
    leave(tmp_path, finished(1))
    os.utime(path)
    assert runs_of(survivor.orphans()) == [1]


def test_a_worker_that_lives_or_has_come_back_is_let_alone(tmp_path: Path, survivor: FileJournal) -> None:
    leave(tmp_path, finished(1, 2))
    [orphan] = survivor.orphans()
    with closing(FileJournal(tmp_path, "worker-1", STORE)) as back:
        assert not survivor.orphans()
        survivor.forget(orphan, orphan.finished)
        assert list(back.replay()) == finished(1, 2)
        back.rewrite(finished(3))
    survivor.forget(orphan, orphan.finished)
    assert runs_of(survivor.orphans()) == [3]


def test_notes_of_another_store_or_another_boot_are_left_as_they_are(
    tmp_path: Path, survivor: FileJournal, monkeypatch: pytest.MonkeyPatch
) -> None:
    other_store = leave(tmp_path, finished(1), identity="f" * 32)
    boot = tmp_path / "boot_id"
    boot.write_text("another-boot-of-another-machine\n")
    monkeypatch.setattr("mainspring.adapters.files.journal._BOOT", boot)
    other_boot = leave(tmp_path, finished(2), name="worker-2")
    monkeypatch.undo()
    before = other_store.read_bytes(), other_boot.read_bytes()
    assert not survivor.orphans()
    assert (other_store.read_bytes(), other_boot.read_bytes()) == before


def test_a_system_that_does_not_name_its_boots_has_no_neighbours(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mainspring.adapters.files.journal._BOOT", tmp_path / "none")
    leave(tmp_path, finished(1))
    with closing(FileJournal(tmp_path, "survivor", STORE)) as journal:
        assert not journal.orphans()


def test_a_torn_end_costs_the_notes_that_it_tore(tmp_path: Path, survivor: FileJournal) -> None:
    path = leave(tmp_path, finished(1, 2))
    text = path.read_bytes().rstrip(b"\0")
    path.write_bytes(text[:-3] + b"\xff\xff\xff")
    assert runs_of(survivor.orphans()) == [1]


def test_one_file_that_cannot_be_read_keeps_nobody_from_the_others(
    tmp_path: Path, survivor: FileJournal, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(body: bytes) -> Note:
        if body[0] == 3 and body[16] == 1:
            raise ValueError("a note of a later version")
        return decode(body)

    decode = codec.decode
    monkeypatch.setattr(codec, "decode", refuse)
    leave(tmp_path, finished(1))
    leave(tmp_path, finished(2), name="worker-2")
    with capture_logs() as logged:
        assert runs_of(survivor.orphans()) == [2]
        assert runs_of(survivor.orphans()) == [2]
    assert [each["event"] for each in logged] == ["journal.passed_over"]


@pytest.mark.parametrize("left", [0, 1])
def test_a_survivor_without_descriptors_looks_again_when_it_has_some(
    tmp_path: Path, survivor: FileJournal, left: int
) -> None:
    """One is enough for listing the folder, and too few for reading what is in it."""
    leave(tmp_path, finished(1))
    spare = os.open(tmp_path, os.O_RDONLY)
    with no_descriptor_left():
        if left:
            os.close(spare)
        assert not survivor.orphans()
    if not left:
        os.close(spare)
    assert runs_of(survivor.orphans()) == [1]


def test_two_survivors_read_the_same_and_may_both_forget_it(tmp_path: Path, survivor: FileJournal) -> None:
    path = leave(tmp_path, finished(1, 2))
    with closing(FileJournal(tmp_path, "other", STORE)) as other:
        [first], [second] = survivor.orphans(), other.orphans()
        survivor.forget(first, first.finished)
        other.forget(second, second.finished)
        assert not survivor.orphans()
        assert not other.orphans()
    with closing(FileJournal(tmp_path, "worker-1", STORE)) as back:
        assert list(back.replay()) == []
    assert path.exists()


def test_a_worker_that_comes_back_waits_for_whoever_reads_its_notes_just_then(tmp_path: Path) -> None:
    leave(tmp_path, finished(1))
    with _glance(tmp_path / "worker-1.lock") as dead:
        assert dead
        opening = threading.Thread(target=leave, args=(tmp_path, finished(2)))
        opening.start()
        opening.join(0.1)
        assert opening.is_alive()
    opening.join()


def test_what_an_older_program_wrote_under_the_name_is_taken_over(tmp_path: Path) -> None:
    path = leave(tmp_path, finished(1, 2))
    text = path.read_bytes()
    path.unlink()
    (tmp_path / "worker-1.journal").write_bytes(b"mainspring journal 1\n" + text.partition(b"\n")[2])
    with closing(FileJournal(tmp_path, "worker-1", STORE)) as journal:
        assert list(journal.replay()) == finished(1, 2)
    assert not (tmp_path / "worker-1.journal").exists()


def test_a_worker_on_another_store_names_the_notes_that_it_leaves(tmp_path: Path) -> None:
    path = leave(tmp_path, finished(1))
    leave(tmp_path, [], identity="e" * 32)
    with capture_logs() as logged, closing(FileJournal(tmp_path, "worker-1", "f" * 32)) as journal:
        assert list(journal.replay()) == []
    assert [(each["event"], each["file"]) for each in logged] == [("journal.of_another_store", str(path))]
    assert path.exists()
