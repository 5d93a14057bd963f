"""Who leads among the schedulers, where something else than the store is to say so.

To lead means to be the one who does the schedulers' work: it saves double work and nothing else. Two leaders, or none
for a while, cost time; the store's compare-and-set keeps every moment from firing twice whoever leads.
"""

from datetime import timedelta
from typing import Protocol


class Leadership(Protocol):
    """One lease for all schedulers. Never fails, and never takes long: not to know is an answer."""

    async def stand(self, name: str, ttl: timedelta) -> str | None:
        """Take the lead for *ttl* if it is free, keep it if it is *name*'s; return whose it is, None if unknown."""
        ...

    async def resign(self, name: str) -> None:
        """Give the lead back if it is *name*'s; should that fail, it ends by itself."""
        ...
