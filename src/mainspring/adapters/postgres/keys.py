"""The Keys port on PostgreSQL."""

from collections.abc import Sequence
from uuid import UUID

from mainspring.adapters.postgres.engine import Engine
from mainspring.adapters.postgres.rows import Row
from mainspring.adapters.postgres.statements import load
from mainspring.ports.keys import ApiKey, Scope

_SQL = load("keys")


class PostgresKeys:
    """Digests of keys, never the keys."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    async def create(self, key: ApiKey) -> None:
        """Store a new key."""
        await self._engine.execute(
            _SQL["create"],
            key.id,
            key.digest,
            key.owner,
            key.name,
            key.scope,
            key.created_at,
            key.expires_at,
            key.revoked_at,
            key.last_used_at,
        )

    async def find(self, digest: bytes) -> ApiKey | None:
        """The key with this digest."""
        row = await self._engine.row(_SQL["find"], digest)
        return None if row is None else _key_from(row)

    async def list(self, owner: str | None) -> Sequence[ApiKey]:
        """All keys (of an owner), newest first."""
        return [_key_from(row) for row in await self._engine.fetch(_SQL["list"], owner)]

    async def revoke(self, key_id: UUID) -> bool:
        """End a key for good."""
        return await self._engine.value(_SQL["revoke"], key_id) is not None

    async def used(self, key_ids: Sequence[UUID]) -> None:
        """Note that these keys were used now."""
        if key_ids:
            await self._engine.execute(_SQL["used"], key_ids)


def _key_from(row: Row) -> ApiKey:
    key_id, digest, owner, name, scope, created_at, expires_at, revoked_at, last_used_at = row
    return ApiKey(
        id=key_id,
        digest=digest,
        owner=owner,
        name=name,
        scope=Scope(scope),
        created_at=created_at,
        expires_at=expires_at,
        revoked_at=revoked_at,
        last_used_at=last_used_at,
    )
