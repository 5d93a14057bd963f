"""The Journal port by one file per worker name.

A note is a record: length and CRC-32 of its body, then the body. Whatever the death of the process left half written
at the end fails one of the two and is cut off. Nothing is synced: the page cache survives the process, and when the
machine dies the session's time runs out and the store decides.
"""

import fcntl
import hashlib
import os
import struct
import urllib.parse
import zlib
from collections.abc import Sequence
from pathlib import Path

from mainspring.adapters.files import notes as codec
from mainspring.errors import ConfigurationError, StoreFull, StoreReadOnly
from mainspring.ports.journal import Note

_MAGIC = b"mainspring journal 1\n"
_RECORD = struct.Struct("<II")
_MAX_NAME = 120


class FileJournal:
    """The notes of the worker *name*; a second process under the same name is refused while this one lives."""

    def __init__(self, folder: Path, name: str) -> None:
        stem = file_stem(name)
        self._path = folder / f"{stem}.journal"
        try:
            folder.mkdir(parents=True, exist_ok=True)
            # The lock has a file of its own, because rewriting replaces the journal's.
            self._lock = os.open(folder / f"{stem}.lock", os.O_RDWR | os.O_CREAT, 0o600)
        except OSError as error:
            raise ConfigurationError(f"the journal folder {folder} can't be used: {error.strerror}") from error
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            os.close(self._lock)
            message = f"another process runs under the name {name!r}; give each worker a name of its own"
            raise ConfigurationError(message) from error
        self._size = 0
        self._file = _open(self._path)
        self._repair()

    def append(self, notes: Sequence[Note]) -> None:
        """Add *notes* with one write; StoreFull, and nothing added, where they didn't fit."""
        data = b"".join(map(_record, notes))
        self._write(self._file, data)
        self._size += len(data)

    def replay(self) -> Sequence[Note]:
        """All notes since the last rewrite, in order."""
        return _parse(self._path.read_bytes())[0]

    def rewrite(self, notes: Sequence[Note]) -> None:
        """Replace everything by *notes*: a reader finds the old notes or the new ones, never a mixture."""
        fresh = self._path.with_suffix(".new")
        file = _open(fresh, os.O_TRUNC)
        try:
            self._write(file, _MAGIC + b"".join(map(_record, notes)))
            fresh.replace(self._path)
        except BaseException:
            os.close(file)
            raise
        os.close(self._file)
        self._file = file
        self._size = 0

    @property
    def size(self) -> int:
        """Bytes added since the last rewrite."""
        return self._size

    def close(self) -> None:
        """Let a successor have it; closing twice changes nothing."""
        if self._lock >= 0:
            os.close(self._file)
            os.close(self._lock)
            self._file = self._lock = -1

    def _repair(self) -> None:
        """Cut a torn end off, so that what is appended stands behind something readable."""
        data = self._path.read_bytes()
        whole = _parse(data)[1]
        if whole < len(data):
            os.ftruncate(self._file, whole)
        if whole == 0:
            self._write(self._file, _MAGIC)
        self._size = max(whole - len(_MAGIC), 0)

    @staticmethod
    def _write(file: int, data: bytes) -> None:
        try:
            written = os.write(file, data)
        except OSError as error:
            raise StoreFull(f"the journal can't be written: {error.strerror}") from error
        if written < len(data):
            os.ftruncate(file, os.fstat(file).st_size - written)
            raise StoreFull("the journal can't be written: no space left")


def file_stem(name: str) -> str:
    """A file name for any worker name: readable where it can be, never two names in one file."""
    quoted = urllib.parse.quote(name, safe="")
    if len(quoted) <= _MAX_NAME:
        return quoted
    return f"{quoted[:_MAX_NAME]}~{hashlib.sha256(name.encode()).hexdigest()[:16]}"


def _open(path: Path, flags: int = 0) -> int:
    try:
        return os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND | flags, 0o600)
    except OSError as error:
        raise StoreReadOnly(f"the journal {path} can't be opened: {error.strerror}") from error


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
