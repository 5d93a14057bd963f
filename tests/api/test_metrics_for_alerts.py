"""What alerts and autoscaling go by."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from unittest.mock import AsyncMock
from uuid import UUID

from mainspring.adapters.sqlite.store import SqliteStore
from mainspring.adapters.system.clock import SystemClock
from mainspring.api.app import create_app
from mainspring.api.measurements import Measurements
from mainspring.api.ports import ApiPorts
from mainspring.domain.ids import JobId, Version
from mainspring.domain.outcome import Lost
from mainspring.domain.plan import Advance, Skip, SkipReason
from mainspring.domain.suspects import EXPIRED
from mainspring.wiring.measuring import MeasuredTimetable, Stopwatch
from tests.api.calling import Api, calling, claimed, executed
from tests.api.test_metrics import scraped

NOON = datetime(2030, 1, 1, 12, tzinfo=UTC)


async def test_what_is_due_is_told_apart_from_what_waits_for_later(api: Api, store: SqliteStore) -> None:
    for schedule in ("now", "now", "in 1h"):
        await api.submitted(schedule=schedule)
    await claimed(store)
    samples = await scraped(api)
    assert samples["mainspring_due_runs"] == 1
    assert samples['mainspring_live_runs{lane="default"}'] == 3


async def test_a_lane_tells_how_many_workers_serve_it(api: Api, store: SqliteStore) -> None:
    await api.submitted()
    assert (await scraped(api))['mainspring_lane_workers{lane="default"}'] == 0
    await claimed(store)
    assert (await scraped(api))['mainspring_lane_workers{lane="default"}'] == 1


async def test_suspects_that_wait_are_counted(api: Api, store: SqliteStore) -> None:
    assert (await scraped(api))["mainspring_suspects"] == 0
    await api.submitted()
    for _ in range(2):
        await executed(store, Lost(shared=EXPIRED))
    samples = await scraped(api)
    assert samples["mainspring_suspects"] == 1
    assert samples['mainspring_live_runs{lane="default"}'] == 1


async def test_an_old_snapshot_shows_where_the_store_can_tell(ports: ApiPorts) -> None:
    checkup = AsyncMock()
    checkup.oldest_snapshot.return_value = timedelta(minutes=5)
    async with calling(create_app(replace(ports, checkup=checkup))) as api:
        assert (await scraped(api))["mainspring_store_oldest_snapshot_seconds"] == 300
    async with calling(create_app(replace(ports, checkup=None))) as api:
        assert "mainspring_store_oldest_snapshot_seconds" not in await scraped(api)


async def test_skips_are_counted_by_reason_once_they_are_decided(ports: ApiPorts) -> None:
    measurements = Measurements()
    timetable = AsyncMock()
    timetable.fire.return_value = [True, False]
    measured = MeasuredTimetable(timetable, Stopwatch(measurements, SystemClock()))
    await measured.fire([an_advance(SkipReason.MISFIRE), an_advance(SkipReason.OVERLAP)])
    async with calling(create_app(replace(ports, measurements=measurements))) as api:
        samples = await scraped(api)
    assert samples['mainspring_skips_total{reason="misfire"}'] == 1
    assert samples['mainspring_skips_total{reason="overlap"}'] == 0


def an_advance(reason: SkipReason) -> Advance:
    job_id = JobId(UUID(int=1))
    return Advance(
        job_id=job_id,
        expected_version=Version(1),
        expected_fire_at=NOON,
        expected_active=None,
        next_fire_at=None,
        wake_at=None,
        active_run=None,
        skips=(Skip(job_id=job_id, first=NOON, last=NOON, count=1, reason=reason),),
    )
