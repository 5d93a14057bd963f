from collections.abc import Sequence
from contextlib import AsyncExitStack
from dataclasses import replace
from datetime import timedelta
from unittest.mock import AsyncMock, Mock

import pytest

from mainspring.adapters.system.chance import SystemRandom
from mainspring.errors import ConfigurationError
from mainspring.wiring import coordination
from mainspring.wiring.coordination import COORDINATORS, chosen_exchange, chosen_leadership, examine_all
from mainspring.wiring.kinds import COORDINATOR
from mainspring.wiring.reading import read_settings
from mainspring.wiring.settings import Settings
from mainspring.wiring.switchboard import Switchboard, within_process
from servers.ports import free_port

LONG = timedelta(seconds=30)


async def test_by_default_everything_is_left_to_the_store() -> None:
    of_store = within_process()
    async with AsyncExitStack() as closing:
        assert await chosen_exchange(Settings(), of_store, random=Mock(), closing=closing) is of_store
        assert await chosen_leadership(Settings(), random=Mock(), closing=closing) is None
        assert await examine_all(Settings()) == []


async def heard(first: Settings, second: Settings) -> Sequence[bool]:
    """Whether two processes with nothing else in common hear each other."""
    answers = []
    async with AsyncExitStack() as closing:
        one, other = [
            Switchboard(await chosen_exchange(each, within_process(), random=SystemRandom(), closing=closing), closing)
            for each in (first, second)
        ]
        for sender, receiver in ((one, other), (other, one)):
            signals = await receiver.subscribe()
            await (await sender.sender()).notify(["a"])
            answers.append(await signals.wait(["a"], LONG if first == second else timedelta(0)))
    return answers


async def test_processes_hear_each_other_by_redis(redis_url: str) -> None:
    assert await heard(Settings(signals=redis_url), Settings(signals=redis_url)) == [True, True]
    assert await heard(Settings(signals=redis_url), Settings()) == [False, False]


async def test_each_server_is_examined_once() -> None:
    url = f"redis://127.0.0.1:{free_port()}/0"
    assert len(await examine_all(Settings(signals=url, members=url))) == 1
    assert len(await examine_all(Settings(signals=url, members=f"{url}1"))) == 2


async def test_a_missing_driver_is_answered_with_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    missing = AsyncMock(side_effect=ModuleNotFoundError(name="redis"))
    without = replace(COORDINATORS["redis"], exchange=missing, leadership=missing)
    monkeypatch.setattr(coordination, "COORDINATORS", {"redis": without})
    settings = read_settings(flags={}, environment={"REDIS_URL": "redis://host"})
    async with AsyncExitStack() as closing:
        with pytest.raises(ConfigurationError, match=r"REDIS_URL has .* pip install 'mainspring\[redis\]'"):
            await chosen_exchange(settings, within_process(), random=Mock(), closing=closing)
        with pytest.raises(ConfigurationError, match=r"no module 'redis'.*MAINSPRING_MEMBERS=store"):
            await chosen_leadership(settings, random=Mock(), closing=closing)


def test_settings_take_every_scheme_that_is_known() -> None:
    assert [COORDINATOR.read(f"{scheme.upper()}://host") for scheme in COORDINATORS]
