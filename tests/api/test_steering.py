"""Orders to jobs that somebody else changes at the same time."""

from unittest.mock import AsyncMock, Mock
from uuid import UUID

import pytest

from mainspring.adapters.system.chance import SystemRandom
from mainspring.adapters.system.clock import SystemClock
from mainspring.api.quota import Quota
from mainspring.api.steering import TRIES, Steering
from mainspring.domain.ids import JobId
from mainspring.domain.job import JobState
from mainspring.errors import NotFound, StoreUnavailable, VersionConflict
from mainspring.ports.views import JobRecord, Page
from mainspring.ports.work import Cancel
from mainspring.testing.factories import Factory

JOB = Factory().job()


@pytest.fixture
def store() -> AsyncMock:
    store = AsyncMock()
    store.job.return_value = JobRecord(job=JOB, run=None)
    store.run.return_value = None
    store.now.return_value = SystemClock().now()
    return store


@pytest.fixture
def steering(store: AsyncMock) -> Steering:
    clock = SystemClock()
    quota = Quota(0, store, clock)
    return Steering(work=store, timetable=store, views=store, clock=clock, random=SystemRandom(), quota=quota)


async def test_a_job_that_changed_in_between_is_read_again(steering: Steering, store: AsyncMock) -> None:
    store.save.side_effect = [VersionConflict("changed"), JOB]
    await steering.pause(JOB.id)
    saved, expected = store.save.await_args.args[:2]
    assert (saved.state, expected, store.save.await_count) == (JobState.PAUSED, JOB, 2)


async def test_a_job_that_keeps_changing_is_given_up(steering: Steering, store: AsyncMock) -> None:
    store.save.side_effect = VersionConflict("changed")
    with pytest.raises(StoreUnavailable, match="try again"):
        await steering.pause(JOB.id)
    assert store.save.await_count == TRIES


async def test_every_page_of_live_runs_is_cancelled(steering: Steering, store: AsyncMock) -> None:
    runs = [Mock(id=UUID(int=number)) for number in range(3)]
    store.runs.side_effect = [Page(items=runs[:2], next=runs[1].id), Page(items=runs[2:], next=None)]
    await steering.cancel(JOB.id)
    assert [call.args for call in store.steer.await_args_list] == [(run.id, Cancel()) for run in runs]


async def test_an_unknown_job_is_not_found(steering: Steering, store: AsyncMock) -> None:
    store.job.return_value = None
    for order in (steering.pause, steering.resume, steering.cancel):
        with pytest.raises(NotFound):
            await order(JobId(UUID(int=1)))
