"""What a store can say about its own health, for those who look after it."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Protocol


@dataclass(frozen=True, slots=True, kw_only=True)
class Remark:
    """One thing that was looked at."""

    subject: str
    text: str
    step: str = ""
    """What to do about it; empty if all is well."""
    endangers: bool = False
    """Whether accepted jobs may be lost, or work stand still, as things are."""


class Checkup(Protocol):
    """Offered by stores with something to look at."""

    async def examine(self) -> Sequence[Remark]:
        """Look at everything once; nothing is changed, and nothing takes long."""
        ...

    async def oldest_snapshot(self) -> timedelta:
        """How long somebody has kept dead rows from being cleared away; nothing if nobody does."""
        ...
