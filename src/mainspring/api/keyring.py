"""Finding the key that somebody shows: in the settings, or in the store.

What the store says is believed for a second, so that a busy client costs one look-up a second and a revoked key is
useless a second later. That a key is unknown isn't remembered at all: a new one works at once.
"""

import asyncio
import hmac
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from mainspring.api.access import GivenKey
from mainspring.api.keys import LONGEST, digest_of, is_ours
from mainspring.errors import MainspringError
from mainspring.logs import get_logger
from mainspring.ports.keys import ApiKey, Keys, Scope
from mainspring.ports.time import Clock

BELIEVED = 1.0
"""Seconds that an answer of the store holds."""
USE_NOTED_EVERY = 60.0
MOST_REMEMBERED = 10_000

log = get_logger("mainspring.api")


@dataclass(frozen=True, slots=True, kw_only=True)
class Holder:
    """Whom a key belongs to, and what it allows."""

    owner: str
    scope: Scope
    actor: str


class KeyRing:
    """All keys that are good for something now."""

    def __init__(self, keys: Keys, clock: Clock, given: Sequence[GivenKey]) -> None:
        self._keys = keys
        self._clock = clock
        self._given = {digest_of(each.key): each.owner for each in given}
        self._remembered: OrderedDict[bytes, tuple[float, ApiKey]] = OrderedDict()
        self._any = bool(given)
        self._looked_at: float | None = None
        self._uses = _Uses(keys, clock)

    async def holder(self, text: str) -> Holder | None:
        """Whoever holds this key, or None if it is good for nothing: unknown, revoked or expired."""
        if len(text) > LONGEST:
            return None
        digest = digest_of(text)
        for known, owner in self._given.items():
            if hmac.compare_digest(known, digest):
                return Holder(owner=owner, scope=Scope.ADMIN, actor="key:settings")
        key = await self._stored(text, digest)
        if key is None or not hmac.compare_digest(key.digest, digest) or not key.valid(self._clock.now()):
            return None
        self._uses.note(key.id)
        return Holder(owner=key.owner, scope=key.scope, actor=f"key:{key.id}")

    async def any(self) -> bool:
        """Whether a key exists. One that was revoked still counts: giving up the last key must open nothing."""
        now = self._clock.monotonic()
        if not self._any and (self._looked_at is None or now - self._looked_at >= BELIEVED):
            self._any = bool(await self._keys.list(None))
            self._looked_at = now
        return self._any

    async def _stored(self, text: str, digest: bytes) -> ApiKey | None:
        now = self._clock.monotonic()
        asked_at, key = self._remembered.get(digest, (0.0, None))
        if key is not None and now - asked_at < BELIEVED:
            self._remembered.move_to_end(digest)
            return key
        # A checksum that doesn't fit is a typing error: the store needn't hear of it.
        key = await self._keys.find(digest) if is_ours(text) else None
        if key is None:
            self._remembered.pop(digest, None)
            return None
        self._remembered[digest] = (now, key)
        self._remembered.move_to_end(digest)
        if len(self._remembered) > MOST_REMEMBERED:
            self._remembered.popitem(last=False)
        return key


class _Uses:
    """Notes which keys were used, many at a time: a request must not cost a write."""

    def __init__(self, keys: Keys, clock: Clock) -> None:
        self._keys = keys
        self._clock = clock
        self._pending: set[UUID] = set()
        self._next = clock.monotonic()
        self._timer: asyncio.TimerHandle | None = None
        self._writing: asyncio.Task[None] | None = None

    def note(self, key_id: UUID) -> None:
        self._pending.add(key_id)
        if self._timer is None:
            wait = max(0.0, self._next - self._clock.monotonic())
            self._timer = asyncio.get_running_loop().call_later(wait, self._begin)

    def _begin(self) -> None:
        self._timer = None
        self._next = self._clock.monotonic() + USE_NOTED_EVERY
        self._writing = asyncio.create_task(self._write())

    async def _write(self) -> None:
        used, self._pending = sorted(self._pending), set()
        try:
            await self._keys.used(used)
        except MainspringError as error:
            log.warning("keys.use_not_noted", error=str(error))
