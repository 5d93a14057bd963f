"""Where a page of a list begins, as an opaque text that only we can make: it is checked before it is used."""

import binascii
from base64 import urlsafe_b64decode, urlsafe_b64encode
from uuid import UUID
from zlib import crc32

from mainspring.errors import Invalid

_CHECK = 4


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


def _written(kind: str, position: bytes) -> str:
    return urlsafe_b64encode(position + _check(kind, position)).decode().rstrip("=")


def _read(kind: str, text: str, length: int) -> bytes:
    try:
        data = urlsafe_b64decode(text + "=" * (-len(text) % 4))
    except (binascii.Error, ValueError):
        data = b""
    position = data[:-_CHECK]
    # Written again, because decoding passes over characters that don't belong there.
    if len(position) != length or _written(kind, position) != text:
        raise Invalid("isn't a cursor of this list; use the 'next' of a page as it is", field="cursor")
    return position


def _check(kind: str, position: bytes) -> bytes:
    return crc32(kind.encode() + position).to_bytes(_CHECK, "big")
