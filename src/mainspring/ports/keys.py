"""API keys. Only a hash is stored; the key itself is shown once, by whoever made it."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Protocol
from uuid import UUID


class Scope(StrEnum):
    """What a key allows, each including the one before."""

    READ = "read"
    WRITE = "write"
    ADMIN = "admin"


@dataclass(frozen=True, slots=True, kw_only=True)
class ApiKey:
    """A key without its secret."""

    id: UUID
    digest: bytes
    owner: str
    name: str
    scope: Scope
    created_at: datetime
    expires_at: datetime | None = None
    revoked_at: datetime | None = None
    last_used_at: datetime | None = None

    def valid(self, now: datetime) -> bool:
        """Whether it was neither revoked nor has expired."""
        return self.revoked_at is None and (self.expires_at is None or self.expires_at > now)


class Keys(Protocol):
    """Lookups are by digest; revoked and expired keys are returned as such, and the caller refuses them."""

    async def create(self, key: ApiKey) -> None:
        """Store a new key."""
        ...

    async def find(self, digest: bytes) -> ApiKey | None:
        """The key with this digest, or None."""
        ...

    async def list(self, owner: str | None) -> Sequence[ApiKey]:
        """All keys (of an owner), newest first."""
        ...

    async def revoke(self, key_id: UUID) -> bool:
        """End a key for good; False if there is none or it has ended already."""
        ...

    async def used(self, key_ids: Sequence[UUID]) -> None:
        """Note that these keys were used now."""
        ...
