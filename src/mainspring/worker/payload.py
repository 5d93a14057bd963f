"""Payloads as handlers take them."""

import json
from typing import Any

_DECODER = json.JSONDecoder()


def parsed(payload: bytes) -> Any:
    """The value of a JSON text; json.JSONDecodeError if it isn't one."""
    text = payload.decode()
    try:
        value, end = _DECODER.raw_decode(text)
    except json.JSONDecodeError:
        return json.loads(text)  # there may be space before it
    # Looking for space around a small value takes longer than reading it, and there hardly ever is any.
    return value if end == len(text) else json.loads(text)
