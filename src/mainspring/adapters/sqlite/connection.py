"""Opening a connection with the settings that durability and several processes need, and translating its errors."""

import random
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import apsw

from mainspring.adapters.private_files import create_file
from mainspring.errors import (
    ConfigurationError,
    StoreCorrupt,
    StoreError,
    StoreFull,
    StoreReadOnly,
    StoreUnavailable,
)

MEMORY = ":memory:"
LOG_SIZE = 4 * 1024 * 1024
"""What is laid out for the log at first; once it has been written through, it is used again from its beginning."""
BUSY_SECONDS = 10.0
"""How long another process may keep the file before a write is given up as unavailable."""

_SETTINGS = (
    "PRAGMA synchronous = FULL",  # NORMAL would acknowledge what a power cut takes back
    "PRAGMA wal_autocheckpoint = 0",  # the writer checkpoints after it has answered, not before
    "PRAGMA temp_store = MEMORY",
    "PRAGMA cache_size = -65536",
    "PRAGMA journal_size_limit = 67108864",
    "PRAGMA foreign_keys = OFF",
)


def connect(path: str) -> apsw.Connection:
    """A connection for reading and writing; the folder must exist."""
    if path != MEMORY and not Path(path).parent.is_dir():
        raise ConfigurationError(f"the folder {Path(path).parent} doesn't exist: create it, or choose another --data")
    with suppress(OSError):  # SQLite says it better
        if path != MEMORY:
            create_file(Path(path))  # the log and its index get the mode of the file
    with translated(path):
        connection = apsw.Connection(path, statementcachesize=200)
        connection.set_busy_handler(_Patience())
        # Plans never depend on values: what mentions a partial index would be planned anew at each execution.
        connection.config(apsw.SQLITE_DBCONFIG_ENABLE_QPSG, 1)
        _keep_a_log(connection)
        for setting in _SETTINGS:
            connection.execute(setting)
        return connection


def _keep_a_log(connection: apsw.Connection) -> None:
    """Switch the file to its write-ahead log, which stays.

    The switch of a new file takes its locks from the bottom up. Of several processes at it SQLite refuses all but one
    at once, without asking the busy handler, since two that wait with their lower locks held would wait for ever.
    """
    patience, refusals = _Patience(), 0
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL")
            return
        except apsw.BusyError:
            if not patience(refusals):
                raise
            refusals += 1


def lay_out_log(connection: apsw.Connection, path: str) -> None:
    """Give the log its room on disk: a commit that overwrites syncs in half the time of one that lets the file grow.

    A transaction larger than the cache spills into the log; rolled back, it leaves nothing but the room.
    """
    log = Path(f"{path}-wal")
    if log.exists() and log.stat().st_size >= LOG_SIZE:
        return
    with translated(path):
        cache = connection.pragma("cache_size")
        connection.pragma("cache_size", 10)
        connection.execute("BEGIN IMMEDIATE")
        try:
            connection.execute("CREATE TABLE room (bytes)")
            connection.execute("INSERT INTO room VALUES (zeroblob(?))", (LOG_SIZE,))
        except apsw.FullError:
            pass  # there is no room: what must be stored may still fit
        finally:
            if connection.in_transaction:
                connection.execute("ROLLBACK")
            connection.pragma("cache_size", cache)


class _Patience:
    """Waits for the file while another process writes: in short, uneven steps, since commits take a millisecond."""

    def __init__(self) -> None:
        self._since = 0.0

    def __call__(self, previous_calls: int) -> bool:
        if previous_calls == 0:
            self._since = time.monotonic()
        elif time.monotonic() - self._since > BUSY_SECONDS:
            return False
        time.sleep(random.uniform(0.0002, 0.002))  # noqa: S311 - spreads processes out, protects nothing
        return True


@contextmanager
def translated(path: str) -> Iterator[None]:
    """Let no driver error pass: each becomes one of ours, with what to do next."""
    try:
        yield
    except apsw.Error as error:
        raise translation(error, path) from error


def translation(error: apsw.Error, path: str) -> StoreError:
    """The error of ours that stands for this one."""
    if getattr(error, "extendedresult", 0) in _OUT_OF_SPACE:
        error = apsw.FullError(str(error))
    for theirs, ours, advice in _TRANSLATIONS:
        if isinstance(error, theirs):
            return ours(f"{path} {advice} ({error})")
    return StoreUnavailable(f"{path}: {type(error).__name__}: {error}")


# The index of the log, in shared memory beside the file, can't grow: SQLite reports that as an input/output error.
_OUT_OF_SPACE = frozenset({apsw.SQLITE_IOERR_SHMSIZE, apsw.SQLITE_IOERR_SHMMAP, apsw.SQLITE_IOERR_WRITE})

_TRANSLATIONS: tuple[tuple[tuple[type[apsw.Error], ...], type[StoreError], str], ...] = (
    ((apsw.FullError,), StoreFull, "has no space left; nothing was stored. Free some: no restart is needed"),
    (
        (apsw.ReadOnlyError, apsw.PermissionsError, apsw.AuthError),
        StoreReadOnly,
        "can't be written: check the permissions of the file and its folder",
    ),
    ((apsw.CantOpenError,), StoreReadOnly, "can't be opened: check that it is a file in a folder that can be written"),
    ((apsw.CorruptError, apsw.NotADBError), StoreCorrupt, "is damaged or isn't a Mainspring store: restore a backup"),
    ((apsw.BusyError, apsw.LockedError), StoreUnavailable, "was kept busy by another process for too long"),
)
