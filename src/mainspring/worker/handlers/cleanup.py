"""`system.cleanup`: forget what ended more than `olderThanDays` (30) ago, in batches that hold nobody up."""

import asyncio
from collections.abc import Mapping
from datetime import timedelta
from typing import Any

from mainspring.ports.upkeep import Upkeep
from mainspring.worker.context import Context
from mainspring.worker.handlers.payload import Fields

BATCH = 1000
_MOST_DAYS = 36_500


class Cleanup:
    """The handler. History belongs to all owners: the API lets only an administrator have it executed."""

    def __init__(self, *, upkeep: Upkeep) -> None:
        self._upkeep = upkeep

    async def __call__(self, payload: Any, context: Context) -> Mapping[str, int]:
        """Prune until nothing is left; what was removed before a stop stays removed."""
        days = Fields(payload, "olderThanDays").number("olderThanDays", 30, low=0, high=_MOST_DAYS)
        removed = 0
        while batch := await self._upkeep.prune(timedelta(days=days), BATCH):
            removed += batch
            context.progress(0.0, f"{removed} removed")
            if context.cancelled.is_set():
                raise asyncio.CancelledError
        return {"removed": removed}
