"""Headers of a request as the server gives them, for what is asked of every request: no object is made of them."""

from collections.abc import MutableMapping
from typing import Any


def header(request_scope: MutableMapping[str, Any], name: bytes) -> str | None:
    """The first header of that *name*, which is in small letters."""
    for given, value in request_scope["headers"]:
        if given == name:
            text: str = value.decode("latin-1")
            return text
    return None
