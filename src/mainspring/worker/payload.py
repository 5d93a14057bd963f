"""Payloads as handlers take them, and as they were written."""

import json
import re
from dataclasses import dataclass
from typing import Any

_DECODER = json.JSONDecoder()
_BLANK = re.compile(r"[ \t\n\r]*")


@dataclass(frozen=True, slots=True)
class Verbatim:
    """A result that is JSON text already: parsed and printed again, numbers would lose digits."""

    text: bytes


def parsed(payload: bytes) -> Any:
    """The value of a JSON text; json.JSONDecodeError if it isn't one."""
    text = payload.decode()
    try:
        value, end = _DECODER.raw_decode(text)
    except json.JSONDecodeError:
        return json.loads(text)  # there may be space before it
    # Looking for space around a small value takes longer than reading it, and there hardly ever is any.
    return value if end == len(text) else json.loads(text)


def member_text(payload: bytes, name: str) -> bytes:
    """A member of the object that *payload* is, byte for byte as it was written; KeyError if it has none.

    Of several under one name it is the last, which `parsed` takes, too.
    """
    text = payload.decode()
    found: str | None = None
    position = _past_blanks(text, _past_blanks(text, 0) + 1)
    while text[position] != "}":
        given, position = _DECODER.raw_decode(text, position)
        start = _past_blanks(text, _past_blanks(text, position) + 1)
        _, end = _DECODER.raw_decode(text, start)
        if given == name:
            found = text[start:end]
        position = _past_blanks(text, end)
        if text[position] == ",":
            position = _past_blanks(text, position + 1)
    if found is None:
        raise KeyError(name)
    return found.encode()


def _past_blanks(text: str, position: int) -> int:
    blank = _BLANK.match(text, position)
    return position if blank is None else blank.end()
