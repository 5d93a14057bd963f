"""API keys as text: how one is made, and how a mistyped one is known without asking the store.

`ms_live_`, 43 digits of base 62 that hold 256 random bits, and 6 digits that hold a CRC-32 of all before. The prefix
lets scanners find keys that were published by mistake, the checksum lets them leave out what only looks like one.
"""

import hashlib
import string
import zlib

PREFIX = "ms_live_"
SECRET_BITS = 256
SHORTEST = 16
"""Fewer characters than this can be guessed; keys of ours are longer, keys that people choose must be no shorter."""
LONGEST = 512

_DIGITS = string.digits + string.ascii_uppercase + string.ascii_lowercase
_SECRET_LENGTH = 43
_CHECKSUM_LENGTH = 6
_LENGTH = len(PREFIX) + _SECRET_LENGTH + _CHECKSUM_LENGTH


def make_key(bits: int) -> str:
    """The key that holds these 256 random bits."""
    if not 0 <= bits < 1 << SECRET_BITS:
        raise ValueError(f"a key holds {SECRET_BITS} bits")
    secret = PREFIX + _digits(bits, _SECRET_LENGTH)
    return secret + _checksum(secret)


def is_ours(key: str) -> bool:
    """Whether `make_key` can have made it: a store holds no others."""
    if len(key) != _LENGTH or not key.startswith(PREFIX):
        return False
    secret, checksum = key[:-_CHECKSUM_LENGTH], key[-_CHECKSUM_LENGTH:]
    return secret.isascii() and checksum == _checksum(secret)


def digest_of(key: str) -> bytes:
    """What is stored of a key. No salt and no stretching: 256 random bits can't be guessed, however fast the hash."""
    return hashlib.sha256(key.encode()).digest()


def _checksum(secret: str) -> str:
    return _digits(zlib.crc32(secret.encode()), _CHECKSUM_LENGTH)


def _digits(number: int, length: int) -> str:
    digits = []
    for _ in range(length):
        number, digit = divmod(number, len(_DIGITS))
        digits.append(_DIGITS[digit])
    return "".join(reversed(digits))
