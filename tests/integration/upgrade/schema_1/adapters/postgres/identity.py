"""Stores had no identity then."""

from mainspring.adapters.postgres.engine import Engine


async def identity(_: Engine) -> str:
    """None."""
    return ""
