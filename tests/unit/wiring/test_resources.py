from contextlib import AsyncExitStack
from datetime import timedelta
from pathlib import Path

import pytest

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
