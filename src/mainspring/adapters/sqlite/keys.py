"""The Keys port on SQLite."""

from collections.abc import Iterator, Sequence
from typing import Any
from uuid import UUID

from mainspring.adapters.sqlite.engine import Engine, Transaction
from mainspring.adapters.sqlite.rows import dump, to_instant, to_instant_or_none, to_micros
from mainspring.adapters.sqlite.statements import load
from mainspring.ports.keys import ApiKey, Scope

_SQL = load("keys")


class SqliteKeys:
    """Digests of keys, never the keys."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    async def create(self, key: ApiKey) -> None:
        """Store a new key."""
        times = (key.expires_at, key.revoked_at, key.last_used_at)
        values = (
            key.id.bytes,
            key.digest,
            key.owner,
            key.name,
            key.scope,
            to_micros(key.created_at),
            *(None if time is None else to_micros(time) for time in times),
        )
        await self._engine.write(lambda transaction: transaction.execute(_SQL["create"], *values))

    async def find(self, digest: bytes) -> ApiKey | None:
        """The key with this digest."""
        return await self._engine.read(lambda transaction: next(_keys(transaction, "find", digest), None))

    async def list(self, owner: str | None) -> Sequence[ApiKey]:
        """All keys (of an owner), newest first."""
        return await self._engine.read(lambda transaction: [*_keys(transaction, "list", owner)])

    async def revoke(self, key_id: UUID) -> bool:
        """End a key for good."""
        return await self._engine.write(lambda transaction: _revoke(transaction, key_id))

    async def used(self, key_ids: Sequence[UUID]) -> None:
        """Note that these keys were used now."""
        digits = dump([key_id.hex for key_id in key_ids])
        await self._engine.write(lambda transaction: transaction.execute(_SQL["used"], digits, transaction.now))


def _revoke(transaction: Transaction, key_id: UUID) -> bool:
    transaction.execute(_SQL["revoke"], key_id.bytes, transaction.now)
    return transaction.changes() > 0


def _keys(transaction: Transaction, statement: str, *values: Any) -> Iterator[ApiKey]:
    for row in transaction.connection.execute(_SQL[statement], values):
        key_id, digest, owner, name, scope, created_at, expires_at, revoked_at, last_used_at = row
        yield ApiKey(
            id=UUID(bytes=key_id),
            digest=digest,
            owner=owner,
            name=name,
            scope=Scope(scope),
            created_at=to_instant(created_at),
            expires_at=to_instant_or_none(expires_at),
            revoked_at=to_instant_or_none(revoked_at),
            last_used_at=to_instant_or_none(last_used_at),
        )
