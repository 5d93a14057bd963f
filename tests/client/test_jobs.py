from datetime import UTC, datetime, timedelta

import pytest

from mainspring.client import Client, Retry, new_job
from mainspring.client.errors import Conflict, Invalid, LockBusy, NotFound, ResultTimeout
from mainspring.client.requests import When, schedule_text


async def test_a_submitted_job_comes_back_as_it_was_described(client: Client) -> None:
    job = await client.submit(
        "test.echo",
        {"large": 2**70, "text": "ü"},
        schedule=datetime(2040, 1, 1, tzinfo=UTC),
        name="later",
        priority=70,
        timeout=timedelta(seconds=90),
        retry=Retry(kind="fixed", initial=timedelta(seconds=2)),
        max_retries=7,
    )
    assert job == await client.job(job.id)
    assert job.payload == {"large": 2**70, "text": "ü"}
    assert (job.name, job.priority, job.max_retries) == ("later", 70, 7)
    assert job.timeout == timedelta(seconds=90)
    assert job.retry == Retry(kind="fixed", initial=timedelta(seconds=2))
    assert job.next_run_time == datetime(2040, 1, 1, tzinfo=UTC)
    assert job.status == "SCHEDULED"


async def test_a_job_is_changed_paused_resumed_and_deleted(client: Client) -> None:
    job = await client.schedule("test.echo", "0 6 * * *", timezone="Europe/Berlin", key="daily")
    changed = await client.update(job, version=job.version, schedule="0 7 * * *", payload=None, priority=1)
    assert (changed.schedule, changed.priority, changed.timezone) == ("0 7 * * *", 1, "Europe/Berlin")
    with pytest.raises(Conflict):
        await client.update(job, version=job.version, priority=2)
    assert (await client.pause(job)).status == "PAUSED"
    assert (await client.resume(job)).status == "SCHEDULED"
    await client.delete(job)
    with pytest.raises(NotFound):
        await client.job(job)


async def test_an_interval_is_a_schedule_of_its_own(client: Client) -> None:
    job = await client.schedule("test.echo", timedelta(minutes=90))
    assert job.schedule == "@every 5400s"
    with pytest.raises(ValueError, match="whole seconds"):
        await client.schedule("test.echo", timedelta(milliseconds=1500))


@pytest.mark.parametrize(
    ("when", "text"),
    [
        (timedelta(seconds=1.2), "in 1.2s"),
        (timedelta(milliseconds=200), "in 0.2s"),
        (timedelta(days=30_000, microseconds=1), "in 2592000000.000001s"),
        (timedelta(seconds=2), "in 2s"),
        (timedelta(seconds=-2), "now"),
        (timedelta(0), "now"),
        (datetime(2040, 1, 1, 1, tzinfo=UTC), "2040-01-01T01:00:00Z"),
        ("@hourly", "@hourly"),
    ],
)
def test_a_schedule_is_written_in_the_common_grammar(when: When, text: str) -> None:
    assert schedule_text(when) == text


async def test_a_short_delay_is_as_long_as_asked_to_the_microsecond(client: Client) -> None:
    delay = timedelta(milliseconds=200, microseconds=1)
    job = await client.submit("test.echo", schedule=delay)
    [execution] = [each async for each in client.executions(job=job)]
    assert job.schedule == "in 0.200001s"
    assert execution.scheduled_at == job.next_run_time == job.created_at + delay


def test_a_time_without_a_zone_is_refused() -> None:
    with pytest.raises(ValueError, match="no time zone"):
        schedule_text(datetime(2040, 1, 1))  # noqa: DTZ001 - that is the point


async def test_a_batch_is_stored_as_a_whole(client: Client) -> None:
    jobs = await client.batch(new_job("test.echo", number) for number in range(250))
    assert [job.payload for job in jobs] == list(range(250))
    assert len([job async for job in client.jobs()]) == 250
    assert len([job async for job in client.jobs(limit=120)]) == 120
    with pytest.raises(Invalid):
        await client.batch([new_job("test.echo", 1), new_job("test.echo", 2, priority=1000)])
    assert len([job async for job in client.jobs()]) == 250


async def test_executions_are_found_and_cancelled(client: Client) -> None:
    job = await client.submit("test.echo", schedule=timedelta(hours=1))
    [execution] = [each async for each in client.executions(job=job)]
    assert execution.status == "PENDING"
    assert (await client.cancel_execution(execution)).status == "CANCELLED"
    with pytest.raises(Conflict):
        await client.cancel(job)
    again = await client.retry_execution(execution)
    assert again.retry_of == execution.id
    assert await client.attempts(again) == []
    with pytest.raises(ResultTimeout):
        await client.result(again, timeout=timedelta(0))


async def test_the_cluster_is_described(client: Client) -> None:
    await client.submit("test.echo", schedule="on-demand", key="k")
    assert (await client.health())["status"] == "healthy"
    assert "totals" in await client.metrics()
    assert await client.execution_metrics()
    assert await client.workers() == []
    assert [each async for each in client.dead_letters()] == []
    assert (await client.requeue_all()).requeued == 0
    [entry] = [each async for each in client.audit(limit=1)]
    assert entry.action
    assert len(await client.preview("0 6 * * *", timezone="Europe/Berlin", count=3)) == 3
    with pytest.raises(Invalid) as caught:
        await client.preview("61 * * * *")
    assert caught.value.field == "schedule"


async def test_a_lock_excludes_and_its_tokens_grow(client: Client) -> None:
    async with client.lock("invoices/2030", timedelta(seconds=30)) as first:
        with pytest.raises(LockBusy, match=first.holder):
            async with client.lock("invoices/2030", wait=timedelta(0)):
                pytest.fail("two hold it")
    async with client.lock("invoices/2030") as second:
        assert second.token > first.token


async def test_an_unknown_field_says_which(client: Client) -> None:
    with pytest.raises(Invalid) as caught:
        await client.submit("test.echo", priority=101)
    assert caught.value.field == "priority"
    with pytest.raises(NotFound):
        await client.job("01890a5d-ac96-774b-bcce-b302099a8057")
