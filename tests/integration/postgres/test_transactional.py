"""Jobs and successes in a user's own transaction, by every driver that people use."""

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from typing import Any
from uuid import UUID

import asyncpg
import psycopg
import pytest
from opentelemetry.sdk.trace import TracerProvider
from sqlalchemy import create_engine
from sqlalchemy.ext.asyncio import create_async_engine
from sqlalchemy.orm import Session

from mainspring.adapters.carried import without_trace
from mainspring.adapters.postgres.address import address
from mainspring.adapters.postgres.migrate import migrate
from mainspring.adapters.postgres.signals import PostgresHub
from mainspring.adapters.system.chance import SystemRandom
from mainspring.domain.ids import Fence, JobId, RunId, SessionId
from mainspring.domain.run import Attempt
from mainspring.domain.task import Task
from mainspring.errors import ConfigurationError, Invalid, KeyConflict, WrongState
from mainspring.postgres import Enqueued, NewJob, add, new_job, settle
from mainspring.worker.context import Context

Body = Callable[[Any], Any]
"""What to do with a connection; what it returns may have to be awaited."""


class GiveUp(Exception):
    pass


@dataclass(frozen=True)
class Driver:
    """Runs a body in a transaction of one driver, committed unless the body raises."""

    name: str
    within: Callable[[str, Body], Awaitable[Any]]


async def within_asyncpg(url: str, body: Body) -> Any:
    connection = await asyncpg.connect(url)
    try:
        async with connection.transaction():
            return await body(connection)
    finally:
        await connection.close()


async def within_psycopg(url: str, body: Body) -> Any:
    def blocking() -> Any:
        with psycopg.connect(url) as connection:
            return body(connection)

    return await asyncio.to_thread(blocking)


async def within_async_psycopg(url: str, body: Body) -> Any:
    async with await psycopg.AsyncConnection.connect(url) as connection:
        return await body(connection)


async def within_sqlalchemy(url: str, body: Body) -> Any:
    def blocking() -> Any:
        engine = create_engine(url.replace("postgresql://", "postgresql+psycopg://"))
        try:
            with engine.begin() as connection:
                return body(connection)
        finally:
            engine.dispose()

    return await asyncio.to_thread(blocking)


async def within_sqlalchemy_session(url: str, body: Body) -> Any:
    def blocking() -> Any:
        engine = create_engine(url.replace("postgresql://", "postgresql+psycopg://"))
        try:
            with Session(engine) as session, session.begin():
                return body(session)
        finally:
            engine.dispose()

    return await asyncio.to_thread(blocking)


async def within_async_sqlalchemy(url: str, body: Body) -> Any:
    engine = create_async_engine(url.replace("postgresql://", "postgresql+asyncpg://"))
    try:
        async with engine.begin() as connection:
            return await body(connection)
    finally:
        await engine.dispose()


DRIVERS = [
    Driver("asyncpg", within_asyncpg),
    Driver("psycopg", within_psycopg),
    Driver("psycopg, awaited", within_async_psycopg),
    Driver("sqlalchemy", within_sqlalchemy),
    Driver("sqlalchemy session", within_sqlalchemy_session),
    Driver("sqlalchemy, awaited", within_async_sqlalchemy),
]
JOB = new_job("mail.send", {"to": "a@example.org"}, allow_unknown_handler=True)


@pytest.fixture(params=DRIVERS, ids=lambda driver: driver.name)
def driver(request: pytest.FixtureRequest) -> Driver:
    chosen: Driver = request.param
    return chosen


@pytest.fixture
async def url(postgres_url: str) -> str:
    await migrate(address(postgres_url))
    return postgres_url


@contextmanager
def looking(url: str) -> Iterator["psycopg.Connection[Any]"]:
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("SET search_path = mainspring")
        yield connection


def rows(url: str, statement: str, *values: Any) -> list[Any]:
    with looking(url) as connection:
        return connection.execute(statement.encode(), values).fetchall()


async def enqueue(driver: Driver, url: str, jobs: Sequence[NewJob]) -> Sequence[Enqueued]:
    answers: Sequence[Enqueued] = await driver.within(url, lambda connection: add(connection, jobs))
    return answers


async def test_a_job_is_there_when_the_transaction_commits(driver: Driver, url: str) -> None:
    (added,) = await enqueue(driver, url, [JOB])
    assert added.created
    stored = rows(url, "SELECT id, handler, lane, payload, state, wake_at <= now() FROM queue")
    assert stored == [(added.id, "mail.send", "default", b'{"to":"a@example.org"}', 0, True)]
    assert rows(url, "SELECT what, amount, ids FROM tally") == [("added", 1, [added.id])]


async def test_a_job_was_never_there_if_the_transaction_is_rolled_back(driver: Driver, url: str) -> None:
    def body(connection: Any) -> Any:
        pending = add(connection, [JOB])
        if not asyncio.iscoroutine(pending):
            raise GiveUp

        async def then_give_up() -> None:
            await pending
            raise GiveUp

        return then_give_up()

    with pytest.raises(GiveUp):
        await driver.within(url, body)
    assert rows(url, "SELECT count(*) FROM queue UNION ALL SELECT count(*) FROM tally") == [(0,), (0,)]


async def test_schedules_delays_and_large_payloads_are_kept(driver: Driver, url: str) -> None:
    daily = new_job("report", schedule="0 6 * * *", timezone="Europe/Berlin", name="daily", allow_unknown_handler=True)
    later = new_job("report", "x" * 5000, schedule="in 60s", priority=90, allow_unknown_handler=True)
    recurring, one_shot = await enqueue(driver, url, [daily, later])
    assert rows(url, "SELECT id, name, state, next_fire_at > now() FROM job") == [(recurring.id, "daily", 0, True)]
    ((identity, priority, kind, early, blob),) = rows(
        url, "SELECT id, priority, kind, wake_at < now() + interval '50s', blob FROM queue"
    )
    assert (identity, priority, kind, early) == (one_shot.id, 90, 1, False)
    assert rows(url, "SELECT length(data) FROM blob WHERE id = %s", blob) == [(5002,)]


async def test_a_key_stores_a_job_once_and_another_body_is_refused(driver: Driver, url: str) -> None:
    (first,) = await enqueue(driver, url, [JOB.with_key("order-7")])
    (again,) = await enqueue(driver, url, [JOB.with_key("order-7")])
    assert (first.created, again.created) == (True, False)
    assert again.id == first.id
    other = new_job("mail.send", {"to": "b@example.org"}, key="order-7", allow_unknown_handler=True)
    with pytest.raises(KeyConflict, match="order-7"):
        await enqueue(driver, url, [JOB, other])
    assert rows(url, "SELECT id FROM queue") == [(first.id,)]


async def test_a_handler_that_nobody_ever_served_is_refused_by_the_server(url: str) -> None:
    with pytest.raises(asyncpg.PostgresError, match=r"no worker has ever registered the handler 'mail\.send'"):
        await enqueue(DRIVERS[0], url, [new_job("mail.send")])
    rows(url, "INSERT INTO handler (name, lane) VALUES ('mail.send', 'slow') RETURNING name")
    await enqueue(DRIVERS[0], url, [new_job("mail.send"), new_job("mail.send", lane="fast")])
    assert rows(url, "SELECT lane FROM queue ORDER BY lane") == [("fast",), ("slow",)]


async def test_a_job_goes_on_with_the_trace_of_the_transaction_that_added_it(url: str) -> None:
    with TracerProvider(shutdown_on_exit=False).get_tracer("shop").start_as_current_span("order") as span:
        await enqueue(DRIVERS[0], url, [JOB, new_job("report", schedule="@hourly", allow_unknown_handler=True)])
    own = span.get_span_context()
    [(kept,)] = rows(url, "SELECT retry FROM queue")
    assert without_trace(kept)[1] == f"00-{own.trace_id:032x}-{own.span_id:016x}-{own.trace_flags:02x}"
    assert " " not in rows(url, "SELECT coalesce(retry, '') FROM job")[0][0]


async def test_what_makes_no_sense_is_refused_before_it_is_sent(url: str) -> None:
    for wrong in (new_job("x", schedule="61 * * * *"), new_job("", None), NewJob({"handler": "x", "prio": 1})):
        with pytest.raises(Invalid):
            await enqueue(DRIVERS[0], url, [wrong])
    assert rows(url, "SELECT count(*) FROM queue") == [(0,)]


@pytest.mark.parametrize("wake", [True, False])
async def test_the_commit_wakes_whoever_waits_for_work_or_the_timetable(url: str, wake: bool) -> None:
    hub = await PostgresHub.open(address(url), random=SystemRandom())
    listening = await hub.subscribe()
    jobs = [JOB, new_job("report", schedule="@hourly", allow_unknown_handler=True)]
    await DRIVERS[0].within(url, lambda connection: add(connection, jobs, wake=wake))
    at_most = timedelta(seconds=30 if wake else 0)
    woken = [await listening.wait([topic], at_most) for topic in ("work/default", "timetable")]
    await hub.close()
    assert woken == [wake, wake]


def test_other_things_than_connections_are_refused() -> None:
    with pytest.raises(ConfigurationError, match="asyncpg, psycopg 3 or SQLAlchemy"):
        add(object(), [JOB])


def held(url: str, run: UUID, fence: int = 3) -> Context:
    """The run in a worker's hands."""
    rows(url, "UPDATE queue SET state = 1, fence = %s, attempt = 1, session = 1 WHERE id = %s RETURNING id", fence, run)
    ((due_at,),) = rows(url, "SELECT due_at FROM queue WHERE id = %s", run)
    return Context(
        Attempt(
            run_id=RunId(run),
            job_id=JobId(run),
            session=SessionId(1),
            fence=Fence(fence),
            attempt=1,
            failures=0,
            losses=0,
            due_at=due_at,
            started_at=due_at,
            owner="default",
            project="default",
            task=Task(handler="mail.send"),
        )
    )


@pytest.fixture
async def url_with_history(url: str) -> str:
    with looking(url) as connection:
        connection.execute("CREATE TABLE history_all PARTITION OF history DEFAULT")
    return url


async def test_a_success_commits_with_the_effect(driver: Driver, url_with_history: str) -> None:
    url = url_with_history
    (added,) = await enqueue(driver, url, [JOB])
    context = held(url, added.id)
    await driver.within(url, lambda connection: settle(connection, context, {"sent": True}))
    assert rows(url, "SELECT count(*) FROM queue") == [(0,)]
    assert rows(url, "SELECT id, state, fence, result FROM history") == [(added.id, 2, 3, b'{"sent": true}')]
    assert rows(url, "SELECT what FROM tally ORDER BY number") == [("added",), ("succeeded",)]


async def test_an_attempt_that_lost_its_run_commits_nothing(driver: Driver, url_with_history: str) -> None:
    url = url_with_history
    (added,) = await enqueue(driver, url, [JOB])
    context = held(url, added.id)
    rows(url, "UPDATE queue SET fence = 4 RETURNING id")
    with pytest.raises(WrongState, match="was taken from this attempt"):
        await driver.within(url, lambda connection: settle(connection, context))
    assert rows(url, "SELECT fence FROM queue") == [(4,)]
    assert rows(url, "SELECT count(*) FROM history") == [(0,)]
