"""The Keys port: a handful of rows in one partition, read whole."""

from collections.abc import Sequence
from uuid import UUID

from mainspring.adapters.cassandra.context import Context
from mainspring.adapters.cassandra.layout import EVERYTHING, instant, micros
from mainspring.adapters.cassandra.rows import Put, Row
from mainspring.adapters.cassandra.tables import API_KEY
from mainspring.adapters.cassandra.values import content, identity, number, text
from mainspring.ports.keys import ApiKey, Scope

MOST_KEYS = 10_000
"""More keys than this aren't found any more."""


class CassandraKeys:
    """Digests of keys, never the keys. All is written plainly: the end of a key is written once, never taken back."""

    def __init__(self, context: Context) -> None:
        self._rows = context.rows
        self._clock = context.clock

    async def create(self, key: ApiKey) -> None:
        """Store a new key."""
        await self._rows.put([Put(table=API_KEY, row=_row_from(key))])

    async def find(self, digest: bytes) -> ApiKey | None:
        """The key with this digest."""
        return next((key for key in await self._all() if key.digest == digest), None)

    async def list(self, owner: str | None) -> Sequence[ApiKey]:
        """All keys (of an owner), newest first."""
        found = [key for key in await self._all() if owner in (None, key.owner)]
        return sorted(found, key=lambda key: (key.created_at, key.id), reverse=True)

    async def revoke(self, key_id: UUID) -> bool:
        """End a key for good; of two that do so at the same time, both are told that it was they."""
        rows = await self._rows.get(API_KEY, (EVERYTHING,), [(key_id,)])
        if not rows or rows[0]["revoked_at"] is not None:
            return False
        await self._rows.put([self._at_now(key_id, "revoked_at")])
        return True

    async def used(self, key_ids: Sequence[UUID]) -> None:
        """Note that these keys were used now."""
        if key_ids:
            known = await self._rows.get(API_KEY, (EVERYTHING,), [(key_id,) for key_id in key_ids])
            await self._rows.put([self._at_now(identity(row, "id"), "last_used_at") for row in known])

    async def _all(self) -> Sequence[ApiKey]:
        return [_key_from(row) for row in await self._rows.slice(API_KEY, (EVERYTHING,), limit=MOST_KEYS)]

    def _at_now(self, key_id: UUID, column: str) -> Put:
        now = micros(self._clock.now())
        return Put(table=API_KEY, row={"everything": EVERYTHING, "id": key_id, column: now})


def _row_from(key: ApiKey) -> Row:
    instants = {name: getattr(key, name) for name in ("created_at", "expires_at", "revoked_at", "last_used_at")}
    return {
        "everything": EVERYTHING,
        "id": key.id,
        "digest": key.digest,
        "owner": key.owner,
        "name": key.name,
        "scope": key.scope.value,
        **{name: None if at is None else micros(at) for name, at in instants.items()},
    }


def _key_from(row: Row) -> ApiKey:
    ends = {
        name: None if row[name] is None else instant(number(row, name))
        for name in ("expires_at", "revoked_at", "last_used_at")
    }
    return ApiKey(
        id=identity(row, "id"),
        digest=content(row, "digest"),
        owner=text(row, "owner"),
        name=text(row, "name"),
        scope=Scope(text(row, "scope")),
        created_at=instant(number(row, "created_at")),
        **ends,
    )
