"""Where a page of a list begins, as an opaque text that only we can make: it is checked before it is used."""

import binascii
import struct
from base64 import urlsafe_b64decode, urlsafe_b64encode
from datetime import UTC, datetime, timedelta
from uuid import UUID
from zlib import crc32

from mainspring.errors import Invalid

_CHECK = 4
_NUMBER = struct.Struct(">Q")
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)


def write_cursor(kind: str, position: UUID | None) -> str | None:
    """The text for the page after *position* of the list *kind*; None if there is none."""
    return None if position is None else _written(kind, position.bytes)


def read_cursor(kind: str, text: str | None) -> UUID | None:
    """The position that `write_cursor` wrote for this kind of list; Invalid for anything else."""
    return None if text is None else UUID(bytes=_read(kind, text, 16))


def write_number(kind: str, number: int | None) -> str | None:
    """The same for lists that are numbered."""
    return None if number is None else _written(kind, number.to_bytes(8, "big"))


def read_number(kind: str, text: str | None) -> int | None:
    """The number that `write_number` wrote for this kind of list; Invalid for anything else."""
    return None if text is None else int.from_bytes(_read(kind, text, 8), "big")


def write_end(kind: str, end: datetime, name: str) -> str:
    """The same for lists of names by when they end."""
    return _written(kind, _NUMBER.pack((end - _EPOCH) // _MICROSECOND) + name.encode())


def read_end(kind: str, text: str) -> tuple[datetime, str]:
    """What `write_end` wrote for this kind of list; Invalid for anything else."""
    position = _read(kind, text)
    try:
        (microseconds,) = _NUMBER.unpack_from(position)
        return _EPOCH + microseconds * _MICROSECOND, position[_NUMBER.size :].decode()
    except (struct.error, OverflowError, UnicodeDecodeError):
        raise _foreign() from None


def _written(kind: str, position: bytes) -> str:
    return urlsafe_b64encode(position + _check(kind, position)).decode().rstrip("=")


def _read(kind: str, text: str, length: int | None = None) -> bytes:
    try:
        data = urlsafe_b64decode(text + "=" * (-len(text) % 4))
    except (binascii.Error, ValueError):
        data = b""
    position = data[:-_CHECK]
    # Written again, because decoding passes over characters that don't belong there.
    if length not in (None, len(position)) or _written(kind, position) != text:
        raise _foreign()
    return position


def _foreign() -> Invalid:
    return Invalid("isn't a cursor of this list; use the 'next' of a page as it is", field="cursor")


def _check(kind: str, position: bytes) -> bytes:
    return crc32(kind.encode() + position).to_bytes(_CHECK, "big")
