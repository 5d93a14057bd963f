"""The Checkup port: copies and nodes, clocks, and what a node has written down when it says so."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from mainspring.adapters.cassandra.driver import Bridge, Driver
from mainspring.errors import StoreError
from mainspring.ports.checkup import Remark
from mainspring.ports.time import Clock

ENOUGH_COPIES = 3
MOST_SKEW = timedelta(seconds=1)

_NOW = "SELECT toTimestamp(now()) AS moment FROM system.local"
_COMMIT_LOG = "SELECT value FROM system_views.settings WHERE name = 'commitlog_sync'"


class CassandraCheckup:
    """Asks every node, one after the other."""

    def __init__(self, driver: Driver, clock: Clock) -> None:
        self._driver = driver
        self._bridge = Bridge(driver)
        self._clock = clock

    async def examine(self) -> Sequence[Remark]:
        """Everything that is known to go wrong with a queue in Cassandra."""
        hosts = list(self._driver.cluster.metadata.all_hosts())
        copies = self._copies()
        up = [host for host in hosts if host.is_up]
        return [
            _replication(copies),
            _nodes(len(up), len(hosts), copies),
            await self._clocks(up),
            await self._commit_log(up, copies),
        ]

    async def oldest_snapshot(self) -> timedelta:
        """Nobody's reading keeps anything from being cleared away here."""
        return timedelta(0)

    def _copies(self) -> Mapping[str, int]:
        """Copies of every row by data centre."""
        keyspace = self._driver.cluster.metadata.keyspaces[self._driver.address.keyspace]
        strategy = keyspace.replication_strategy
        by_centre = getattr(strategy, "dc_replication_factors", None)
        return dict(by_centre) if by_centre else {"the cluster": int(strategy.replication_factor)}

    async def _clocks(self, hosts: Sequence[Any]) -> Remark:
        skews = {str(host.address): skew for host in hosts if (skew := await self._skew(host)) is not None}
        if not skews:
            return Remark(subject="clocks", text="no node told its time")
        furthest, skew = max(skews.items(), key=lambda item: abs(item[1]))
        text = f"{furthest} differs most from this machine, by {abs(skew) / timedelta(milliseconds=1):.0f} ms"
        if abs(skew) <= MOST_SKEW:
            return Remark(subject="clocks", text=text)
        return Remark(
            subject="clocks",
            text=text,
            step="let NTP set all clocks: jobs start early or late by as much, and of two writes the later one wins",
            endangers=True,
        )

    async def _skew(self, host: Any) -> timedelta | None:
        before = self._clock.now()
        try:
            answer = await self._bridge.run(_NOW, host=host)
        except StoreError:
            return None
        middle = before + (self._clock.now() - before) / 2
        moment: datetime = answer[0]["moment"].replace(tzinfo=UTC)
        return moment - middle

    async def _commit_log(self, hosts: Sequence[Any], copies: Mapping[str, int]) -> Remark:
        periodic = [host for host in hosts if await self._is_periodic(host)]
        if not periodic:
            return Remark(subject="commit log", text="is written to disk before a node answers, where nodes tell of it")
        return Remark(
            subject="commit log",
            text=f"{len(periodic)} of {len(hosts)} nodes answer up to 10 s before they write to disk",
            step="set commitlog_sync: group in cassandra.yaml, unless no power cut can take all copies at once",
            endangers=min(copies.values()) == 1,
        )

    async def _is_periodic(self, host: Any) -> bool:
        try:
            answer = await self._bridge.run(_COMMIT_LOG, host=host)
        except StoreError:  # ScyllaDB has no such table, and writes its decisions to disk by itself
            return False
        return bool(answer) and answer[0]["value"] == "periodic"


def _replication(copies: Mapping[str, int]) -> Remark:
    text = ", ".join(
        f"{count} copies in {name}" if count > 1 else f"one copy in {name}" for name, count in copies.items()
    )
    if min(copies.values()) >= ENOUGH_COPIES:
        return Remark(subject="replication", text=text)
    return Remark(
        subject="replication",
        text=text,
        step="ALTER KEYSPACE … with 3 copies in each data centre, then repair: "
        "with fewer, no node can fail without everything standing still",
        endangers=min(copies.values()) == 1,
    )


def _nodes(up: int, known: int, copies: Mapping[str, int]) -> Remark:
    text = f"{up} of {known} answer"
    wanted = sum(copies.values())
    if up == known and known >= wanted:
        return Remark(subject="nodes", text=text)
    if known < wanted:
        return Remark(
            subject="nodes",
            text=f"{text}, fewer than the {wanted} copies that the keyspace asks for",
            step="add nodes: copies that have no node to be on don't exist",
            endangers=up <= wanted // 2,
        )
    return Remark(subject="nodes", text=text, step="bring the others back, then repair", endangers=up <= wanted // 2)
