"""A task that is lost is noticed."""

import asyncio
import gc

import pytest

from tests.lost_tasks import LostTasks, check_closed_loops


async def waiting() -> None:
    await asyncio.Event().wait()


def test_a_task_that_outlives_its_loop_is_noticed(lost_tasks: LostTasks) -> None:
    async def main() -> None:
        lost.append(asyncio.create_task(waiting()))
        await asyncio.sleep(0)

    lost: list[asyncio.Task[None]] = []
    loop = asyncio.new_event_loop()
    loop.run_until_complete(main())
    loop.close()
    with pytest.raises(pytest.fail.Exception, match="waiting"):
        check_closed_loops()
    lost.clear()
    gc.collect()
    with pytest.raises(pytest.fail.Exception, match="waiting"):
        lost_tasks.check()
    lost_tasks.check()
