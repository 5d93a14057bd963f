"""What is known of a store's room, by what came of its last writes."""

import asyncio
from typing import cast

import pytest
from structlog.testing import capture_logs

from mainspring.adapters.system.chance import SystemRandom
from mainspring.api.measurements import Measurements
from mainspring.domain.ids import BlobId
from mainspring.errors import StoreFull, StoreUnavailable
from mainspring.ports.blobs import Blobs
from mainspring.services.space import INTERVAL, TRIED, Space, SpaceWatch
from mainspring.testing.clock import ManualClock
from mainspring.testing.factories import Factory
from mainspring.testing.model import MemoryStore
from mainspring.wiring.measuring import MeasuredWork, Stopwatch

FULL = StoreFull("store.db has no space left")


class Disk:
    """Blobs that are refused while *fault* is set."""

    def __init__(self) -> None:
        self.fault: Exception | None = None
        self.written: list[bytes] = []
        self.reached = asyncio.Event()

    async def put(self, data: bytes) -> BlobId:
        if self.fault is not None:
            raise self.fault
        self.written.append(data)
        self.reached.set()
        return BlobId("blob")


def a_watch(space: Space, disk: Disk) -> SpaceWatch:
    return SpaceWatch(space, cast("Blobs", disk), ManualClock(), SystemRandom())


async def test_nothing_is_written_as_long_as_nothing_was_refused() -> None:
    disk = Disk()
    assert await a_watch(Space(), disk).step() == INTERVAL
    assert disk.written == []


async def test_what_was_refused_is_told_once_and_is_over_with_a_write_of_some_size() -> None:
    space, disk = Space(), Disk()
    watch = a_watch(space, disk)
    with capture_logs() as logged:
        for _ in range(2):
            with pytest.raises(StoreFull), space.watched():
                raise FULL
        disk.fault = FULL
        await watch.step()
        assert space.reason == str(FULL)
        disk.fault = None
        await watch.step()
        assert space.reason is None
        space.found()
    assert [each["event"] for each in logged] == ["store.full", "store.has_room"]
    assert [len(data) for data in disk.written] == [TRIED]


async def test_each_try_writes_what_is_not_there_yet() -> None:
    space, disk = Space(), Disk()
    watch = a_watch(space, disk)
    for _ in range(2):
        space.refused(FULL)
        await watch.step()
    first, second = disk.written
    assert first != second


async def test_a_store_that_is_away_says_nothing_of_its_room() -> None:
    space, disk = Space(), Disk()
    space.refused(StoreUnavailable("away"))
    assert not space.full
    space.refused(FULL)
    disk.fault = StoreUnavailable("away")
    await a_watch(space, disk).step()
    assert space.reason == str(FULL)


async def test_what_is_added_once_more_writes_nothing_and_says_nothing_of_room() -> None:
    space, clock = Space(), ManualClock()
    work = MeasuredWork(MemoryStore(clock).work, Stopwatch(Measurements(), clock, space))
    run = Factory().run()
    await work.add([run])
    space.refused(FULL)
    await work.add([run])
    assert space.full


async def test_a_watch_tries_until_it_is_stopped() -> None:
    space, disk, stop = Space(), Disk(), asyncio.Event()
    space.refused(FULL)
    watching = asyncio.create_task(a_watch(space, disk).run(stop))
    await disk.reached.wait()
    stop.set()
    await watching
    assert not space.full
