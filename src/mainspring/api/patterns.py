"""From fields to patterns. Jobs that come in numbers are alike: what one was read as, the next is too."""

import json
import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from mainspring.api.composing import Pattern
from mainspring.api.requests import read_request

_REMEMBERED = 1024
_OWN = frozenset({"payload", "key"})
"""Fields that differ from job to job."""
_KEY = re.compile(r"[^\x00-\x1f\x7f]{1,200}")
"""A key that the request's own check would let pass."""


def pattern_of(fields: Mapping[str, Any]) -> Pattern:
    """The pattern of the job that *fields* describe; Invalid if they describe none."""
    key = fields.get("key")
    if "jobId" in fields or not (key is None or (isinstance(key, str) and _KEY.fullmatch(key))):
        return Pattern.of(read_request(fields))
    # With their types: True and 1.0 are equal to 1, and yet they are something else.
    alike = tuple([(name, value.__class__, value) for name, value in fields.items() if name not in _OWN])
    try:
        return _remembered(alike)
    except TypeError:  # a value that is an object or an array
        return Pattern.of(read_request({name: value for name, value in fields.items() if name not in _OWN}))


@lru_cache(maxsize=_REMEMBERED)
def meaning(pattern: Pattern) -> bytes:
    """Equal for requests that mean the same, but for payload, key and owner."""
    return json.dumps(pattern.request.model_dump(exclude={"payload", "key", "owner"}), sort_keys=True).encode()


@lru_cache(maxsize=_REMEMBERED)
def _remembered(alike: tuple[tuple[str, type, Any], ...]) -> Pattern:
    return Pattern.of(read_request({name: value for name, _, value in alike}))
