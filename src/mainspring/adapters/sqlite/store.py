"""The embedded store: one SQLite file, every port."""

import asyncio

from mainspring.adapters.sqlite.audit import SqliteAudit
from mainspring.adapters.sqlite.blobs import SqliteBlobs
from mainspring.adapters.sqlite.changes import SqliteChanges
from mainspring.adapters.sqlite.connection import MEMORY
from mainspring.adapters.sqlite.engine import Engine, WallClock
from mainspring.adapters.sqlite.inline_engine import InlineEngine
from mainspring.adapters.sqlite.keys import SqliteKeys
from mainspring.adapters.sqlite.locks import SqliteLocks
from mainspring.adapters.sqlite.output import SqliteOutput
from mainspring.adapters.sqlite.sessions import SqliteSessions
from mainspring.adapters.sqlite.threaded_engine import ThreadedEngine
from mainspring.adapters.sqlite.tickets import SqliteTickets
from mainspring.adapters.sqlite.timetable import SqliteTimetable
from mainspring.adapters.sqlite.upkeep import SqliteUpkeep
from mainspring.adapters.sqlite.views import SqliteViews
from mainspring.adapters.sqlite.work import SqliteWork


class SqliteStore:
    """Durable before it answers; several processes on one machine may share the file."""

    shards = 1

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self.timetable = SqliteTimetable(engine)
        self.work = SqliteWork(engine)
        self.tickets = SqliteTickets(engine)
        self.sessions = SqliteSessions(engine)
        self.locks = SqliteLocks(engine)
        self.views = SqliteViews(engine)
        self.blobs = SqliteBlobs(engine)
        self.upkeep = SqliteUpkeep(engine)
        self.audit = SqliteAudit(engine)
        self.keys = SqliteKeys(engine)
        self.output = SqliteOutput(engine)
        self.changes = SqliteChanges(engine)
        self.transactions = None
        """Nobody else's tables are in this file."""
        self.checkup = None
        self.heartbeat = None
        """The writer thread answers every loop."""

    @classmethod
    async def open(cls, path: str, *, clock: WallClock, inline: bool = False) -> "SqliteStore":
        """Open the file, creating or migrating it; *inline* runs everything in the calling thread, for simulations."""
        if inline or path == MEMORY:
            return cls(InlineEngine(path, clock))
        return cls(await asyncio.get_running_loop().run_in_executor(None, ThreadedEngine, path, clock))

    @property
    def schema(self) -> int:
        """The number of the newest migration that the file has."""
        return self._engine.schema

    @property
    def identity(self) -> str:
        """Who the store is, for as long as the file lives."""
        return self._engine.identity

    async def close(self) -> None:
        """Finish what was asked and close the file."""
        await self._engine.close()
