"""The Journal port by one file per worker name.

A note is a record: length and CRC-32 of its body, then the body; zeros follow the last. Whatever the death of the
process left half written at the end fails one of the two and is cut off. Notes are written into the file's memory,
which is a tenth of a system call's cost. Nothing is synced: the page cache survives the process, and when the machine
dies the session's time runs out and the store decides.
"""

import fcntl
import hashlib
import mmap
import os
import struct
import sys
import urllib.parse
import zlib
from collections.abc import Sequence
from pathlib import Path

from mainspring.adapters.files import notes as codec
from mainspring.adapters.private_files import make_folder, mode_in, narrow_file, narrow_folder
from mainspring.errors import ConfigurationError, StoreFull, StoreReadOnly
from mainspring.ports.journal import Note

_MAGIC = b"mainspring journal 1\n"
_RECORD = struct.Struct("<II")
_SUFFIXES = (".journal", ".lock", ".new")
_MAX_NAME = 120
_STEP = 1024 * 1024
"""The file grows by this much at a time, of which the disk is asked for every byte: writing to memory that has no
place on the disk would end the process."""


class FileJournal:
    """The notes of the worker *name*; a second process under the same name is refused while this one lives."""

    def __init__(self, folder: Path, name: str) -> None:
        stem = file_stem(name)
        self._path = folder / f"{stem}.journal"
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
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
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
            self._write(_MAGIC)

    def append(self, notes: Sequence[Note]) -> None:
        """Add *notes* at once; StoreFull, and nothing added, where they didn't fit."""
        self._write(_record(notes[0]) if len(notes) == 1 else b"".join(map(_record, notes)))

    def replay(self) -> Sequence[Note]:
        """All notes since the last rewrite, in order."""
        return _parse(self._path.read_bytes())[0]

    def rewrite(self, notes: Sequence[Note]) -> None:
        """Replace everything by *notes*: a reader finds the old notes or the new ones, never a mixture."""
        fresh = self._path.with_suffix(".new")
        text = _MAGIC + b"".join(map(_record, notes))
        file = _open(fresh, os.O_TRUNC)
        try:
            memory = _memory(file, len(text))
            memory[: len(text)] = text
            fresh.replace(self._path)
        except BaseException:
            os.close(file)
            raise
        self._let_go()
        self._file, self._memory, self._end = file, memory, len(text)

    @property
    def size(self) -> int:
        """Bytes of notes."""
        return self._end - len(_MAGIC)

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
    if not data.startswith(_MAGIC):
        return [], 0
    notes: list[Note] = []
    position = len(_MAGIC)
    while position + _RECORD.size <= len(data):
        length, checksum = _RECORD.unpack_from(data, position)
        body = data[position + _RECORD.size : position + _RECORD.size + length]
        if len(body) < length or zlib.crc32(body) != checksum or not body:
            break
        notes.append(codec.decode(body))
        position += _RECORD.size + length
    return notes, position
