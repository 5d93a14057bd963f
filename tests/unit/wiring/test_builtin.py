"""Who may prune everybody's history, as the keys that exist say."""

from datetime import timedelta
from itertools import count
from pathlib import Path

import pytest

from mainspring.api.access import GivenKey
from mainspring.domain.ids import new_job_id
from mainspring.ports.keys import ApiKey, Scope
from mainspring.wiring.builtin import may_clean_up, register
from mainspring.wiring.resources import Resources, opened
from mainspring.wiring.settings import Settings
from mainspring.worker.flow import Abandon
from mainspring.worker.registry import Registry
from tests.unit.handlers.contexts import a_context

NUMBERS = count(1)


async def a_key(
    resources: Resources, owner: str, scope: Scope, *, lives: timedelta | None = None, revoked: bool = False
) -> None:
    now, number = resources.clock.now(), next(NUMBERS)
    key = ApiKey(
        id=new_job_id(now, number),
        digest=number.to_bytes(32, "big"),
        owner=owner,
        name="",
        scope=scope,
        created_at=now,
        expires_at=None if lives is None else now + lives,
    )
    await resources.store.keys.create(key)
    if revoked:
        await resources.store.keys.revoke(key.id)


async def test_without_keys_everybody_may(tmp_path: Path) -> None:
    async with opened(Settings(data=tmp_path)) as resources:
        assert await may_clean_up(resources, "anybody")


async def test_with_keys_only_an_owner_with_an_admin_key_may(tmp_path: Path) -> None:
    async with opened(Settings(data=tmp_path)) as resources:
        await a_key(resources, "ann", Scope.ADMIN, lives=timedelta(days=1))
        await a_key(resources, "ben", Scope.WRITE)
        allowed = {owner: await may_clean_up(resources, owner) for owner in ("ann", "ben", "default")}
    assert allowed == {"ann": True, "ben": False, "default": False}


async def test_a_key_that_is_over_allows_nothing_and_still_closes_the_door(tmp_path: Path) -> None:
    async with opened(Settings(data=tmp_path)) as resources:
        await a_key(resources, "ann", Scope.ADMIN, revoked=True)
        await a_key(resources, "ben", Scope.ADMIN, lives=timedelta(days=-1))
        assert not [owner for owner in ("ann", "ben", "cy") if await may_clean_up(resources, owner)]


async def test_keys_of_the_settings_are_the_operator_s(tmp_path: Path) -> None:
    settings = Settings(data=tmp_path, api_keys=(GivenKey("root", "x" * 40),))
    async with opened(settings) as resources:
        await a_key(resources, "ben", Scope.WRITE)
        assert await may_clean_up(resources, "root")
        assert not await may_clean_up(resources, "ben")


async def test_the_handler_asks(tmp_path: Path) -> None:
    async with opened(Settings(data=tmp_path)) as resources:
        await a_key(resources, "ben", Scope.WRITE)
        registry = Registry()
        builtin = register(registry, resources)
        handler = registry.find("system.cleanup")
        assert handler is not None
        with pytest.raises(Abandon, match="'ben' has no key"):
            await handler.function({"olderThanDays": 0}, a_context(owner="ben"))
        await builtin.close()
