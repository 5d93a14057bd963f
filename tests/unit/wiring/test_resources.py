import asyncio
from contextlib import AsyncExitStack
from datetime import timedelta
from pathlib import Path

import pytest

from mainspring.ports.sessions import NewSession, Role
from mainspring.ports.signals import coming_topic
from mainspring.ports.work import Claim
from mainspring.testing.factories import Factory
from mainspring.wiring.resources import opened
from mainspring.wiring.settings import Settings
from mainspring.wiring.switchboard import Switchboard, through_folder, within_process

LONG = timedelta(seconds=30)


@pytest.mark.parametrize("shared", [True, False], ids=["through a folder", "within the process"])
async def test_everybody_on_the_switchboard_hears_the_sender(tmp_path: Path, shared: bool) -> None:
    async with AsyncExitStack() as closing:
        switchboard = Switchboard(through_folder(tmp_path / "signals") if shared else within_process(), closing)
        subscribers = [await switchboard.subscribe() for _ in range(2)]
        await (await switchboard.sender()).notify(["a"])
        for signals in subscribers:
            assert await signals.wait(["a"], LONG) is True


async def test_a_claim_by_whoever_was_told_what_is_coming_follows_the_addition(tmp_path: Path) -> None:
    async with opened(Settings(data=tmp_path)) as resources:
        session = await resources.sessions.open(NewSession(role=Role.WORKER, name="w", ttl=LONG))
        signals = await resources.switchboard.subscribe()
        run = Factory().run()

        async def claim() -> Claim:
            await signals.wait([coming_topic(run.task.lane)], LONG)
            return await resources.work.claim(session, [run.task.lane], 1)

        claiming = asyncio.create_task(claim())
        await asyncio.sleep(0)
        await resources.work.add([run])
        assert [attempt.run_id for attempt in (await claiming).attempts] == [run.id]


async def test_what_was_opened_is_closed_whatever_happens(tmp_path: Path) -> None:
    folder = tmp_path / "data"

    async def fail() -> None:
        async with opened(Settings(data=folder)) as resources:
            await resources.switchboard.subscribe()
            assert len(list((folder / "signals").iterdir())) == 1
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        await fail()
    assert list((folder / "signals").iterdir()) == []
