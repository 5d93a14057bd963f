from datetime import timedelta

import pytest

from mainspring.api.access import GivenKey
from mainspring.api.keyring import Holder, KeyRing
from mainspring.api.keys import digest_of, make_key
from mainspring.ports.keys import ApiKey, Scope
from mainspring.testing.clock import ManualClock
from mainspring.testing.factories import Factory
from mainspring.testing.model import MemoryStore
from mainspring.testing.model.records import MemoryKeys

TEXT = make_key(12345)
CHOSEN = "a key that somebody chose"
SECOND = timedelta(seconds=1)


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
def keys(clock: ManualClock) -> MemoryKeys:
    return MemoryStore(clock).keys


@pytest.fixture
def ring(keys: MemoryKeys, clock: ManualClock) -> KeyRing:
    return KeyRing(keys, clock, [GivenKey("ann", CHOSEN)])


def a_key(clock: ManualClock, text: str = TEXT, life: timedelta | None = None) -> ApiKey:
    expires_at = None if life is None else clock.now() + life
    return ApiKey(
        id=Factory().id(),
        digest=digest_of(text),
        owner="bob",
        name="ci",
        scope=Scope.READ,
        created_at=clock.now(),
        expires_at=expires_at,
    )


async def test_a_key_from_the_settings_may_do_everything(ring: KeyRing) -> None:
    assert await ring.holder(CHOSEN) == Holder(owner="ann", scope=Scope.ADMIN, actor="key:settings")
    assert await ring.holder(CHOSEN + "!") is None
    assert await ring.holder("x" * 100_000) is None


async def test_a_new_key_works_at_once_although_it_was_tried_before(
    ring: KeyRing, keys: MemoryKeys, clock: ManualClock
) -> None:
    assert await ring.holder(TEXT) is None
    key = a_key(clock)
    await keys.create(key)
    assert await ring.holder(TEXT) == Holder(owner="bob", scope=Scope.READ, actor=f"key:{key.id}")


async def test_a_revoked_key_is_useless_a_second_later(ring: KeyRing, keys: MemoryKeys, clock: ManualClock) -> None:
    key = a_key(clock)
    await keys.create(key)
    assert await ring.holder(TEXT) is not None
    await keys.revoke(key.id)
    clock.advance(SECOND)
    assert await ring.holder(TEXT) is None


async def test_a_key_expires_on_time_even_while_it_is_remembered(
    ring: KeyRing, keys: MemoryKeys, clock: ManualClock
) -> None:
    await keys.create(a_key(clock, life=SECOND / 2))
    assert await ring.holder(TEXT) is not None
    clock.advance(SECOND / 2)
    assert await ring.holder(TEXT) is None


async def test_a_mistyped_key_is_not_asked_for(keys: MemoryKeys, clock: ManualClock) -> None:
    class Silent(MemoryKeys):
        async def find(self, digest: bytes) -> ApiKey | None:
            raise AssertionError(digest)

    ring = KeyRing(Silent(keys._tables), clock, [])
    assert await ring.holder(TEXT[:-1] + "?") is None
    assert await ring.holder("ms_live_nonsense") is None


async def test_the_store_is_asked_once_a_second_for_a_busy_key(keys: MemoryKeys, clock: ManualClock) -> None:
    class Counting(MemoryKeys):
        asked = 0

        async def find(self, digest: bytes) -> ApiKey | None:
            self.asked += 1
            return await super().find(digest)

    counting = Counting(keys._tables)
    ring = KeyRing(counting, clock, [])
    await keys.create(a_key(clock))
    for _ in range(100):
        assert await ring.holder(TEXT) is not None
    assert counting.asked == 1
    clock.advance(SECOND)
    assert await ring.holder(TEXT) is not None
    assert counting.asked == 2


async def test_a_key_that_was_revoked_still_closes_the_door(keys: MemoryKeys, clock: ManualClock) -> None:
    ring = KeyRing(keys, clock, [])
    assert not await ring.any()
    key = a_key(clock)
    await keys.create(key)
    await keys.revoke(key.id)
    clock.advance(SECOND)
    assert await ring.any()
    assert await KeyRing(keys, clock, [GivenKey("ann", CHOSEN)]).any()
