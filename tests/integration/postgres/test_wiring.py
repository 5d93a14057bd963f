"""What a `postgresql://` URL opens: a store, and signals that reach other processes."""

from contextlib import AsyncExitStack
from datetime import timedelta
from pathlib import Path

import pytest

from mainspring.adapters.system.chance import SystemRandom
from mainspring.errors import ConfigurationError, StoreUnavailable
from mainspring.wiring.resources import opened
from mainspring.wiring.settings import Settings
from mainspring.wiring.stores import open_exchange
from mainspring.wiring.switchboard import Switchboard

LONG = timedelta(seconds=30)


async def test_everybody_on_the_store_hears_the_sender_of_another_process(postgres_url: str) -> None:
    async with AsyncExitStack() as closing:
        here, there = [
            Switchboard(await open_exchange(postgres_url, random=SystemRandom(), closing=closing), closing)
            for _ in range(2)
        ]
        subscribers = [await here.subscribe(), await here.subscribe(), await there.subscribe()]
        await (await there.sender()).notify(["a"])
        for signals in subscribers:
            assert await signals.wait(["a"], LONG) is True


@pytest.mark.parametrize("scheme", ["postgresql", "postgres"])
async def test_both_names_of_the_scheme_open_the_store(postgres_url: str, scheme: str, tmp_path: Path) -> None:
    url = postgres_url.replace("postgresql:", f"{scheme}:", 1)
    async with opened(Settings(store=url, data=tmp_path)) as resources:
        assert (await resources.store.views.figures()).dead_letters == 0


async def test_a_server_that_cannot_be_reached_is_named_without_the_password() -> None:
    with pytest.raises(StoreUnavailable, match=r"postgresql://127\.0\.0\.1:1/x") as raised:
        async with opened(Settings(store="postgresql://me:hunter2@127.0.0.1:1/x")):
            pass
    assert "hunter2" not in str(raised.value)


async def test_a_database_that_does_not_exist_is_a_matter_of_settings(postgres_url: str) -> None:
    with pytest.raises(ConfigurationError, match="check user, password and database"):
        async with opened(Settings(store=f"{postgres_url}_elsewhere")):
            pass
