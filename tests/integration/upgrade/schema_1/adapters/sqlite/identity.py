"""Stores had no identity then."""

import apsw


def identity(_: apsw.Connection, __: str) -> str:
    """None."""
    return ""
