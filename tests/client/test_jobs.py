from datetime import UTC, datetime, timedelta

from mainspring.client import Client, Retry


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
