"""Moving what the log holds into the file, without holding up whoever writes.

To copy thousands of pages and to sync them takes tens of milliseconds. A thread of its own does so beside the writer;
what is written meanwhile is little, and the writer itself moves it: then the log holds nothing, and begins anew.
"""

from concurrent.futures import Future, ThreadPoolExecutor

import apsw

from mainspring.adapters.sqlite.connection import connect

WORTHWHILE = 16_000
"""Pages in the log from which on they are moved, 64 MB of them: whoever commits meanwhile waits for the same disk, and
the more rarely that is, the fewer notice. A page that changed often is moved once."""
TOO_MANY = 2 * WORTHWHILE
"""Pages at which the writer waits for them to be moved: the log mustn't grow for ever."""


class Checkpointer:
    """Belongs to one writer, and is called by it alone."""

    def __init__(self, path: str, connection: apsw.Connection) -> None:
        self._connection = connection
        self._beside = connect(path)
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="sqlite-checkpoint")
        self._moving: Future[None] | None = None
        self._pages = 0
        connection.set_wal_hook(self._note_pages)

    def after_commit(self) -> None:
        """Begin, go on or finish, whichever is due."""
        if self._pages < WORTHWHILE:
            return
        if self._moving is None:
            self._moving = self._thread.submit(_move, self._beside)
        elif self._moving.done() or self._pages >= TOO_MANY:
            self._moving.result()
            self._moving = None
            _move(self._connection)

    def close(self) -> None:
        """Wait for what was begun."""
        self._thread.shutdown()
        self._beside.close()

    def _note_pages(self, _connection: apsw.Connection, _name: str, pages: int) -> int:
        self._pages = pages
        return apsw.SQLITE_OK


def _move(connection: apsw.Connection) -> None:
    try:
        connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_PASSIVE)
    except apsw.Error:
        return  # a full disk or a busy file: the log keeps everything, and a later commit tries again
