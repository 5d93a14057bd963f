"""The Journal port by one file per worker name and store.

A note is a record: length and CRC-32 of its body, then the body; zeros follow the last. Whatever the death of the
process left half written at the end fails one of the two and is cut off. Notes are written into the file's memory,
which is a tenth of a system call's cost. Nothing is synced: the page cache survives the process, and when the machine
dies the session's time runs out and the store decides.

The first line says which store the notes are about, and during which boot of which machine they were written. Others
may settle what a dead worker had finished: its lock is free, and the boot is their own. A folder in a network can show
a lock as free whose holder lives elsewhere, and what an earlier boot left may lack its end.
"""

import fcntl
import hashlib
import mmap
import os
import struct
import sys
import time
import urllib.parse
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from mainspring.adapters.files import notes as codec
from mainspring.adapters.private_files import make_folder, mode_in, narrow_file, narrow_folder
from mainspring.domain.outcome import Verdict
from mainspring.errors import ConfigurationError, StoreFull, StoreReadOnly, exhaustion
from mainspring.logs import get_logger
from mainspring.ports.journal import Began, Finished, Note, Orphan

_MAGIC = b"mainspring journal 2 "
_UNSIGNED = b"mainspring journal 1\n"
"""Began the journals of programs that knew one store and no neighbours; their names had no store in them."""
_RECORD = struct.Struct("<II")
_SUFFIXES = (".journal", ".lock", ".new")
_MAX_NAME = 120
_STEP = 1024 * 1024
"""The file grows by this much at a time, of which the disk is asked for every byte: writing to memory that has no
place on the disk would end the process."""
_OF_STORE = "@"
"""Between a worker's name and its store's identity in the name of a file; no quoted name contains it."""
_SUFFIX = ".journal"
_GLANCE_SECONDS = 5.0
"""How long somebody may keep a dead worker's lock to read what it left, at most; a worker that comes back waits."""
_LOOK_AGAIN_SECONDS = 0.005
_BOOT = Path("/proc/sys/kernel/random/boot_id")

_Stamp = tuple[int, int, int]

log = get_logger("mainspring.worker")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Left(Orphan):
    """An orphan, and the file that it was read from as it was then."""

    path: Path
    stamp: _Stamp


class FileJournal:
    """The notes of the worker *name* on the store *identity*; another process of that name is refused meanwhile."""

    def __init__(self, folder: Path, name: str, identity: str) -> None:
        stem = file_stem(name)
        self._folder = folder
        self._identity = identity
        self._header = b"".join((_MAGIC, f"{identity} {_boot()}".encode(), b"\n"))
        self._path = folder / f"{stem}{_OF_STORE}{identity}{_SUFFIX}"
        self._done: dict[Path, _Stamp] = {}
        """Files of others in which there was nothing to settle, as they were."""
        try:
            make_folder(folder)
            narrow_folder(folder, lambda name: name.endswith(_SUFFIXES))
            for suffix in _SUFFIXES:
                narrow_file(folder / f"{stem}{suffix}")
            # The lock has a file of its own, because rewriting replaces the journal's.
            self._lock = os.open(folder / f"{stem}.lock", os.O_RDWR | os.O_CREAT, mode_in(folder))
        except OSError as error:
            raise ConfigurationError(f"the journal folder {folder} can't be used: {error.strerror}") from error
        try:
            _take(self._lock)
        except OSError as error:
            os.close(self._lock)
            message = f"another process runs under the name {name!r}; give each worker a name of its own"
            raise ConfigurationError(message) from error
        self._file = _open(self._path)
        data = self._path.read_bytes()
        self._end = _parse(data)[1]
        # All that the file has: a successor on a full disk asks for no more than its predecessor did.
        self._memory = _memory(self._file, max(self._end, len(data) - 1))
        if any(data[self._end :]):
            self._memory[self._end : len(data)] = bytes(len(data) - self._end)  # so that only zeros follow
        if self._end == 0:
            self._write(self._header)
        self._adopt(folder / f"{stem}{_SUFFIX}")
        self._name_others(stem)

    def append(self, notes: Sequence[Note]) -> None:
        """Add *notes* at once; StoreFull, and nothing added, where they didn't fit."""
        self._write(_record(notes[0]) if len(notes) == 1 else b"".join(map(_record, notes)))

    def replay(self) -> Sequence[Note]:
        """All notes since the last rewrite, in order."""
        return _parse(self._path.read_bytes())[0]

    def rewrite(self, notes: Sequence[Note]) -> None:
        """Replace everything by *notes*: a reader finds the old notes or the new ones, never a mixture."""
        fresh = self._path.with_suffix(".new")
        text = self._header + b"".join(map(_record, notes))
        file = _open(fresh, os.O_TRUNC)
        try:
            memory = _memory(file, len(text))
            memory[: len(text)] = text
            fresh.replace(self._path)
        except OSError as error:
            os.close(file)
            raise StoreReadOnly(f"the journal {self._path} can't be replaced: {error.strerror}") from error
        except BaseException:
            os.close(file)
            raise
        self._let_go()
        self._file, self._memory, self._end = file, memory, len(text)

    def orphans(self) -> Sequence[Orphan]:
        """What dead neighbours had finished; a file that can't be read is passed over until it changes.

        What this process lacks says nothing about a file: it looks again next time.
        """
        found: list[Orphan] = []
        try:
            paths = sorted(self._folder.iterdir())
        except OSError as error:
            log.warning("journals.unread", folder=str(self._folder), error=str(error))
            return found
        theirs = f"{_OF_STORE}{self._identity}{_SUFFIX}"
        for path in (path for path in paths if path.name.endswith(theirs)):
            try:
                if path != self._path and (orphan := self._orphan(path)) is not None:
                    found.append(orphan)
            except Exception as error:  # noqa: BLE001 - whatever is in one file must not keep others from theirs
                if exhaustion(error) is None:
                    self._pass_over(path, error)
        return found

    def forget(self, orphan: Orphan, settled: Sequence[Verdict]) -> None:
        """Drop what is *settled* from the orphan's file, if it is as it was and nobody has its lock."""
        if not isinstance(orphan, _Left):
            return
        path = orphan.path
        try:
            with _glance(_lock_of(path)) as dead:
                if dead and _stamp(path) == orphan.stamp:
                    self._keep_the_rest(path, frozenset((each.run_id, each.fence) for each in settled))
                    self._done[path] = _stamp(path)
        except OSError as error:
            self._pass_over(path, error)

    @property
    def size(self) -> int:
        """Bytes of notes."""
        return self._end - len(self._header)

    def close(self) -> None:
        """Let a successor have it; closing twice changes nothing."""
        if self._lock >= 0:
            self._let_go()
            os.close(self._lock)
            self._lock = -1

    def _write(self, data: bytes) -> None:
        end = self._end + len(data)
        if end > len(self._memory):
            grown = _memory(self._file, end)
            self._memory.close()
            self._memory = grown
        self._memory[self._end : end] = data
        self._end = end

    def _adopt(self, unsigned: Path) -> None:
        """Take over what a program wrote under this name that gave journals no store."""
        if unsigned.exists():
            self._write(b"".join(map(_record, _parse(unsigned.read_bytes())[0])))
            unsigned.unlink()

    def _name_others(self, stem: str) -> None:
        """Say what stays where it is: the notes of this name about other stores are told to none but theirs."""
        for path in self._folder.iterdir():
            name, of_store, _ = path.name.removesuffix(_SUFFIX).partition(_OF_STORE)
            if of_store and name == stem and path.suffix == _SUFFIX and path != self._path and _notes_in(path):
                log.warning("journal.of_another_store", file=str(path))

    def _orphan(self, path: Path) -> Orphan | None:
        if self._done.get(path) == _stamp(path):
            return None
        with _glance(_lock_of(path)) as dead:
            if not dead:
                return None
            stamp, data = _stamp(path), path.read_bytes()
        finished: list[Verdict] = []
        if _boot() and data.startswith(self._header):
            finished = [note.verdict for note in _parse(data)[0] if isinstance(note, Finished)]
        if not finished:
            self._done[path] = stamp
            return None
        name = urllib.parse.unquote(path.name.partition(_OF_STORE)[0])
        return _Left(name=name, finished=finished, path=path, stamp=stamp)

    def _keep_the_rest(self, path: Path, settled: frozenset[object]) -> None:
        kept = b"".join(_record(note) for note in _parse(path.read_bytes())[0] if _hold(note) not in settled)
        fresh = path.with_suffix(f".{os.getpid()}.new")
        owner = path.stat()
        try:
            with os.fdopen(os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, mode_in(path.parent)), "wb") as file:
                file.write(self._header + kept)
                if owner.st_uid != os.geteuid():  # its worker is to read it when it comes back
                    with suppress(PermissionError):
                        os.fchown(file.fileno(), owner.st_uid, owner.st_gid)
            fresh.replace(path)
        except BaseException:
            with suppress(OSError):
                fresh.unlink()
            raise

    def _pass_over(self, path: Path, error: Exception) -> None:
        log.warning("journal.passed_over", file=str(path), error=repr(error))
        with suppress(OSError):
            self._done[path] = _stamp(path)

    def _let_go(self) -> None:
        self._memory.close()
        os.close(self._file)


def file_stem(name: str) -> str:
    """A file name for any worker name: readable where it can be, never two names in one file."""
    quoted = urllib.parse.quote(name, safe="")
    if len(quoted) <= _MAX_NAME:
        return quoted
    return f"{quoted[:_MAX_NAME]}~{hashlib.sha256(name.encode()).hexdigest()[:16]}"


def _open(path: Path, flags: int = 0) -> int:
    try:
        return os.open(path, os.O_RDWR | os.O_CREAT | flags, mode_in(path.parent))
    except OSError as error:
        raise StoreReadOnly(f"the journal {path} can't be opened: {error.strerror}") from error


def _memory(file: int, needed: int) -> mmap.mmap:
    """The file's memory, with room for *needed* bytes and more; StoreFull where the disk hasn't that much."""
    length = (needed // _STEP + 1) * _STEP
    try:
        _reserve(file, length)
        return mmap.mmap(file, length)
    except OSError as error:
        raise StoreFull(f"the journal can't be written: {error.strerror}") from error


def _reserve(file: int, length: int) -> None:
    if sys.platform == "linux":
        os.posix_fallocate(file, 0, length)
    else:
        size = os.fstat(file).st_size
        os.pwrite(file, bytes(max(length - size, 0)), size)


def _record(note: Note) -> bytes:
    body = codec.encode(note)
    return _RECORD.pack(len(body), zlib.crc32(body)) + body


def _parse(data: bytes) -> tuple[list[Note], int]:
    """The readable notes at the start of *data*, and where they end; 0 if not even the first line is right."""
    if not data.startswith((_MAGIC, _UNSIGNED)) or b"\n" not in data:
        return [], 0
    notes: list[Note] = []
    position = data.index(b"\n") + 1
    while position + _RECORD.size <= len(data):
        length, checksum = _RECORD.unpack_from(data, position)
        body = data[position + _RECORD.size : position + _RECORD.size + length]
        if len(body) < length or zlib.crc32(body) != checksum or not body:
            break
        notes.append(codec.decode(body))
        position += _RECORD.size + length
    return notes, position


def _notes_in(path: Path) -> bool:
    """Whether there is any; what can't be read has none."""
    try:
        return bool(_parse(path.read_bytes())[0])
    except (OSError, ValueError):
        return False


def _hold(note: Note) -> object:
    if isinstance(note, Finished):
        return note.verdict.run_id, note.verdict.fence
    return (note.run_id, note.fence) if isinstance(note, Began) else None


def _boot() -> str:
    """Which boot of which machine this is; empty where the system doesn't say."""
    try:
        return _BOOT.read_text("ascii").strip()
    except OSError:
        return ""


def _lock_of(path: Path) -> Path:
    return path.with_name(f"{path.name.partition(_OF_STORE)[0]}.lock")


def _stamp(path: Path) -> _Stamp:
    status = path.stat()
    return status.st_ino, status.st_mtime_ns, status.st_size


def _take(lock: int) -> None:
    """Lock for good; BlockingIOError if a process holds it, but not for somebody who only glances at it."""
    give_up_at = time.monotonic() + _GLANCE_SECONDS
    while True:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() > give_up_at or not _is_shared(lock):
                raise
            time.sleep(_LOOK_AGAIN_SECONDS)
        else:
            return


def _is_shared(lock: int) -> bool:
    """Whether those who hold it would share it: a worker never does, those who glance at it do."""
    try:
        fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    fcntl.flock(lock, fcntl.LOCK_UN)
    return True


@contextmanager
def _glance(path: Path) -> Iterator[bool]:
    """Whether the worker whose lock it is is dead; if so, none of its name begins before the block ends."""
    lock = os.open(path, os.O_RDWR)
    try:
        try:
            fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            yield False
        else:
            yield True
    finally:
        os.close(lock)
