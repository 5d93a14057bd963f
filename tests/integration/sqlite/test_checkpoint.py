"""The log is moved into the file beside whoever writes, and never grows for ever."""

import threading
from collections.abc import Iterator
from pathlib import Path

import apsw
import pytest

from mainspring.adapters.sqlite import checkpoint
from mainspring.adapters.sqlite.checkpoint import Checkpointer
from mainspring.adapters.sqlite.connection import connect

FEW, MANY = 20, 80
FRAME = 4096 + 24
"""What a page takes in the log."""


class Writer:
    """A file, one who writes a page with each commit, and who moves them."""

    def __init__(self, path: Path) -> None:
        self._log = path.with_name(f"{path.name}-wal")
        self._connection = connect(str(path))
        self._connection.execute("CREATE TABLE page (content)")
        self.checkpointer = Checkpointer(str(path), self._connection)

    def write(self, pages: int) -> None:
        for _ in range(pages):
            self._connection.execute("INSERT INTO page VALUES (zeroblob(3000))")
            self.checkpointer.after_commit()

    @property
    def log_pages(self) -> int:
        """The most that were in it at a time."""
        return self._log.stat().st_size // FRAME

    def close(self) -> None:
        self.checkpointer.close()
        self._connection.close()


@pytest.fixture
def writer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Writer]:
    monkeypatch.setattr(checkpoint, "WORTHWHILE", FEW)
    monkeypatch.setattr(checkpoint, "TOO_MANY", MANY)
    writer = Writer(tmp_path / "store.db")
    yield writer
    writer.close()


def test_the_log_begins_anew_however_much_is_written(writer: Writer) -> None:
    writer.write(20 * MANY)
    assert writer.log_pages <= 2 * MANY


def test_pages_are_moved_beside_the_writer_and_the_rest_by_it(writer: Writer, monkeypatch: pytest.MonkeyPatch) -> None:
    movers: list[bool] = []
    moved = threading.Event()

    def move(_: apsw.Connection) -> None:
        movers.append(threading.current_thread() is threading.main_thread())
        moved.set()

    monkeypatch.setattr(checkpoint, "_move", move)
    writer.write(FEW)
    assert moved.wait(30)
    while len(movers) < 2:  # what was moved beside it is known to have ended a moment after it has
        writer.write(1)
    assert movers[:2] == [False, True]


def test_whoever_writes_far_ahead_waits(writer: Writer, monkeypatch: pytest.MonkeyPatch) -> None:
    let_go = threading.Event()
    move = checkpoint._move

    def held_up(connection: apsw.Connection) -> None:
        let_go.wait(30)
        move(connection)

    monkeypatch.setattr(checkpoint, "_move", held_up)
    writing = threading.Thread(target=writer.write, args=(3 * MANY,))
    writing.start()
    writing.join(0.5)
    ahead = writer.log_pages
    let_go.set()
    writing.join(30)
    assert ahead <= MANY + FEW
    assert not writing.is_alive()
