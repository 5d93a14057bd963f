"""The `Keys` port: API keys by the hash of their secret."""

from datetime import timedelta

from mainspring.ports.keys import ApiKey, Scope
from mainspring.testing.contracts.base import Store, StoreContract
from mainspring.testing.factories import LONG, Factory


def an_api_key(make: Factory, name: str = "ci", **fields: object) -> ApiKey:
    """A key that was made just now."""
    identity = make.id()
    defaults: dict[str, object] = {"owner": "o", "scope": Scope.WRITE, "digest": identity.bytes * 2}
    return ApiKey(id=identity, name=name, created_at=make.moment, **{**defaults, **fields})  # type: ignore[arg-type]  # fields as given


class KeysContract(StoreContract):
    """All that is asked of `Keys`."""

    async def test_a_key_is_found_by_its_digest(self, store: Store, make: Factory) -> None:
        keys = [an_api_key(make), an_api_key(make, scope=Scope.ADMIN, expires_at=make.moment + LONG)]
        for key in keys:
            await store.keys.create(key)
        assert [await store.keys.find(key.digest) for key in keys] == keys
        assert await store.keys.find(b"?" * 32) is None

    async def test_keys_are_listed_newest_first_and_by_owner(self, store: Store, make: Factory) -> None:
        first, second, other = an_api_key(make), an_api_key(make), an_api_key(make, owner="p")
        for key in (second, other, first):
            await store.keys.create(key)
        assert list(await store.keys.list(None)) == [other, second, first]
        assert list(await store.keys.list("o")) == [second, first]
        assert list(await store.keys.list("nobody")) == []

    async def test_a_revoked_key_is_returned_as_such_and_revoked_once(self, store: Store, make: Factory) -> None:
        key = an_api_key(make)
        await store.keys.create(key)
        assert await store.keys.revoke(key.id)
        found = await store.keys.find(key.digest)
        assert found is not None
        assert found.revoked_at is not None
        assert not await store.keys.revoke(key.id)
        assert await store.keys.find(key.digest) == found
        assert not await store.keys.revoke(make.id())

    async def test_an_expired_key_is_returned_as_such(self, store: Store, make: Factory) -> None:
        key = an_api_key(make, expires_at=make.moment - timedelta(days=1))
        await store.keys.create(key)
        assert await store.keys.find(key.digest) == key

    async def test_use_is_noted(self, store: Store, make: Factory) -> None:
        used, unused = an_api_key(make), an_api_key(make)
        for key in (used, unused):
            await store.keys.create(key)
        await store.keys.used([used.id, make.id()])
        await store.keys.used([])
        found = await store.keys.find(used.digest)
        assert found is not None
        assert found.last_used_at is not None
        assert await store.keys.find(unused.digest) == unused
