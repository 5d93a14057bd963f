"""All ports over one set of tables."""

from mainspring.ports.time import Clock
from mainspring.testing.model.changes import MemoryChanges
from mainspring.testing.model.locks import MemoryLocks
from mainspring.testing.model.records import MemoryAudit, MemoryBlobs, MemoryKeys, MemoryOutput
from mainspring.testing.model.sessions import MemorySessions
from mainspring.testing.model.tables import Tables
from mainspring.testing.model.tickets import MemoryTickets
from mainspring.testing.model.timetable import MemoryTimetable
from mainspring.testing.model.upkeep import MemoryUpkeep
from mainspring.testing.model.views import MemoryViews
from mainspring.testing.model.work import MemoryWork


class MemoryStore:
    """The oracle: what any store must do, as plainly as it can be said. Stores with the same *tables* are one store."""

    def __init__(self, clock: Clock, *, tables: Tables | None = None) -> None:
        self.tables = tables = tables or Tables(clock=clock)
        self.timetable = MemoryTimetable(tables)
        self.work = MemoryWork(tables)
        self.tickets = MemoryTickets(tables)
        self.sessions = MemorySessions(tables)
        self.locks = MemoryLocks(tables)
        self.views = MemoryViews(tables)
        self.blobs = MemoryBlobs(tables)
        self.upkeep = MemoryUpkeep(tables)
        self.audit = MemoryAudit(tables)
        self.keys = MemoryKeys(tables)
        self.output = MemoryOutput(tables)
        self.changes = MemoryChanges(tables)

    async def close(self) -> None:
        """There is nothing to let go of."""
