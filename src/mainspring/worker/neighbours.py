"""Settling what other workers of this machine had finished when they were killed, before anybody repeats it.

A worker that comes back under its name does so itself, and also ends its session. Until then, or if it never does, its
neighbours settle what was finished: in time, that is before its session expires and its executions begin again
elsewhere. The session stays open: what the dead worker had only begun is the store's to rescue.
"""

from mainspring.logs import get_logger
from mainspring.worker.delivery import Delivery
from mainspring.worker.recovery import BATCH
from mainspring.worker.settings import WorkerPorts

log = get_logger("mainspring.worker")


class Neighbours:
    """Looks for what dead workers left."""

    def __init__(self, ports: WorkerPorts) -> None:
        self._ports = ports
        self._journal = ports.journal

    async def step(self) -> None:
        """Settle what is there; returns once the store has taken it, but for what it refuses."""
        for orphan in self._journal.orphans():
            delivery = Delivery(self._ports.work, self._ports.clock, self._ports.random)
            kept, told = [], 0
            for start in range(0, len(orphan.finished), BATCH):
                group = orphan.finished[start : start + BATCH]
                delivered = await delivery.settle(group)
                told += len(group) - len(delivered.stale) - len(delivered.refused)
                kept += [(each.verdict.run_id, each.verdict.fence) for each in delivered.refused]
            settled = [each for each in orphan.finished if (each.run_id, each.fence) not in kept]
            self._journal.forget(orphan, settled)
            log.info("neighbour.settled", worker=orphan.name, runs=told, refused=len(kept))
