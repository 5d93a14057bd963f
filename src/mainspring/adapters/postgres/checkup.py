"""The Checkup port: durability, autovacuum, bloat, old snapshots, indexes, connections, partitions."""

import re
from collections.abc import Sequence
from datetime import timedelta

from mainspring.adapters.postgres.engine import Engine
from mainspring.adapters.postgres.migrate import migrations
from mainspring.adapters.postgres.partitions import weeks_ahead
from mainspring.adapters.postgres.statements import load
from mainspring.ports.checkup import Remark

OLD_SNAPSHOT = timedelta(minutes=5)
"""While a snapshot lives, no row that has died since can be cleared away: claims get slower and slower."""
FEWEST_WEEKS = 2
MOST_CONNECTIONS_USED = 0.8

_SQL = load("checkup")
_INDEX = re.compile(r"^CREATE (?:UNIQUE )?INDEX (\w+) ON", re.MULTILINE)


class PostgresCheckup:
    """Asks the server's own statistics."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    async def examine(self) -> Sequence[Remark]:
        """Everything that is known to go wrong with a queue in PostgreSQL."""
        return [
            *await self._server(),
            await self._vacuum(),
            await self._snapshots(),
            await self._indexes(),
            await self._weeks(),
        ]

    async def oldest_snapshot(self) -> timedelta:
        """The age of the oldest transaction that may still look at dead rows."""
        oldest = await self._engine.row(_SQL["oldest_snapshot"], timedelta(0))
        return timedelta(0) if oldest is None else oldest[1]

    async def _server(self) -> Sequence[Remark]:
        row = await self._engine.row(_SQL["server"])
        assert row is not None  # noqa: S101 - a statement without a table has a row
        version, durable, commits, autovacuum, used, most = row
        return [
            _durability(version, durable=durable, commits=commits),
            _autovacuum(on=autovacuum),
            _connections(used, most),
        ]

    async def _vacuum(self) -> Remark:
        bloated = await self._engine.fetch(_SQL["bloat"])
        if bloated:
            tables = ", ".join(
                f"{name} ({dead:,} dead rows beside {live:,}, {size})" for name, live, dead, size, _ in bloated
            )
            return Remark(
                subject="bloat",
                text=f"more dead rows than living ones: {tables}",
                step="see who holds old snapshots, then let autovacuum work or run VACUUM on them",
            )
        if await self._engine.fetch(_SQL["vacuum_settings"]):
            return Remark(
                subject="bloat",
                text="the table queue has lost its own autovacuum settings",
                step="restore them as the first migration sets them, with ALTER TABLE queue SET (…)",
            )
        return Remark(subject="bloat", text="no table has more dead rows than living ones")

    async def _snapshots(self) -> Remark:
        oldest = await self._engine.row(_SQL["oldest_snapshot"], OLD_SNAPSHOT)
        if oldest is None:
            return Remark(subject="snapshots", text="none is old: dead rows can be cleared away")
        who, held = oldest
        seconds = timedelta(seconds=int(held.total_seconds()))
        return Remark(
            subject="snapshots",
            text=f"{who} has held one for {seconds}, so no dead row can be cleared away",
            step="end it, and set idle_in_transaction_session_timeout for whoever it was",
        )

    async def _weeks(self) -> Remark:
        ahead = await weeks_ahead(self._engine)
        if ahead >= FEWEST_WEEKS:
            return Remark(subject="history", text=f"can be written for {ahead} weeks to come")
        return Remark(
            subject="history",
            text=f"can be written for {max(ahead, 0)} weeks to come, and then no run can end",
            step="let a scheduler run, which prepares the next weeks, or run 'mainspring migrate'",
            endangers=True,
        )

    async def _indexes(self) -> Remark:
        found = dict(map(tuple, await self._engine.fetch(_SQL["indexes"])))
        needed = [name for _, script in migrations() for name in _INDEX.findall(script)]
        missing = [name for name in needed if name not in found]
        invalid = [name for name, valid in found.items() if not valid]
        if missing or invalid:
            return Remark(
                subject="indexes",
                text=f"missing: {', '.join(missing) or 'none'}; invalid: {', '.join(invalid) or 'none'}",
                step="create them again as the migrations do; until then the store reads whole tables",
                endangers=True,
            )
        return Remark(subject="indexes", text=f"all {len(needed)} are there")


def _durability(version: str, *, durable: bool, commits: str) -> Remark:
    if durable:
        return Remark(
            subject="server", text=f"PostgreSQL {version}; a commit survives a power cut (synchronous_commit {commits})"
        )
    return Remark(
        subject="server",
        text=f"PostgreSQL {version} runs with fsync or full_page_writes off",
        step="turn both on: a power cut can lose accepted jobs, or the whole database",
        endangers=True,
    )


def _autovacuum(*, on: bool) -> Remark:
    if on:
        return Remark(subject="autovacuum", text="on")
    return Remark(
        subject="autovacuum", text="off on the whole server", step="turn it on: the queue would grow slower by the hour"
    )


def _connections(used: int, most: int) -> Remark:
    text = f"{used} of {most} in use"
    if used < most * MOST_CONNECTIONS_USED:
        return Remark(subject="connections", text=text)
    return Remark(
        subject="connections", text=text, step="raise max_connections, or lower connections= in the store URL"
    )
