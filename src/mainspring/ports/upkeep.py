"""Housekeeping that costs time only, never correctness."""

from datetime import timedelta
from typing import Protocol


class Upkeep(Protocol):
    """Every verb does a bounded piece of work and says how much; zero means that nothing is left."""

    async def prune(self, older_than: timedelta, limit: int) -> int:
        """Forget ended runs and all that hangs on them, and ended sessions, of that age; return rows removed."""
        ...

    async def fold(self, limit: int) -> int:
        """Add tally rows up into their totals; return how many were folded."""
        ...
