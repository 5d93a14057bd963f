import asyncio
import importlib
import os
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from mainspring import App
from mainspring.application import WrongArguments
from mainspring.application.portal import Portal
from mainspring.client import Job, JobFailed
from mainspring.errors import ConfigurationError
from mainspring.wiring.local import local_client
from mainspring.wiring.resources import opened
from tests.lost_tasks import check_closed_loops

LONG = timedelta(seconds=60)


@pytest.fixture
def app(tmp_path: Path) -> Iterator[App]:
    app = App(f"sqlite:///{tmp_path}/mainspring.db")
    yield app
    app.close()


@dataclass
class Order:
    number: int
    due: date


async def test_a_submitted_function_is_called_by_the_worker_and_its_value_comes_back(app: App) -> None:
    @app.task()
    async def add(left: int, right: int = 1) -> int:
        return left + right

    async with app.worker():
        submitted = await add.submit(2, right=3)
        assert await submitted.result(at_most=LONG) == 5
    assert await add(2) == 3


async def test_arguments_and_values_keep_the_types_of_the_annotations(app: App) -> None:
    @app.task()
    def postpone(order: Order, *, by: timedelta) -> Order:
        return Order(order.number, order.due + by)

    async with app.worker():
        submitted = await postpone.submit(Order(7, date(2030, 1, 31)), by=timedelta(days=1))
        assert await submitted.result(at_most=LONG) == Order(7, date(2030, 2, 1))


def test_callers_without_a_loop_submit_and_wait(app: App) -> None:
    @app.task()
    def shout(text: str) -> str:
        return text.upper()

    submitted = shout.delay("hello")
    with pytest.raises(TimeoutError):
        submitted.wait(at_most=timedelta(0))

    async def work() -> str:
        async with app.worker():
            return await asyncio.to_thread(submitted.wait, at_most=LONG)

    assert asyncio.run(work()) == "HELLO"


def test_an_application_that_is_closed_leaves_nothing_running(tmp_path: Path) -> None:
    app = App(f"sqlite:///{tmp_path}/mainspring.db")

    @app.task()
    def never() -> None:
        pass

    with pytest.raises(TimeoutError):
        never.delay().wait(at_most=timedelta(seconds=0.2))
    app.close()
    check_closed_loops()


def test_a_portal_that_is_closed_ends_what_was_begun_there() -> None:
    @asynccontextmanager
    async def opening() -> AsyncIterator[list[asyncio.Task[bool]]]:
        yield []

    async def begin(held: list[asyncio.Task[bool]]) -> None:
        held.append(asyncio.create_task(asyncio.Event().wait()))

    portal = Portal(opening)
    portal.call_blocking(begin)
    portal.close()
    check_closed_loops()


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        ((), "missing a required argument: 'count'"),
        (("three",), "count: input should be a valid integer, not 'three'"),
        ((1, 2, 3), "too many positional arguments"),
        ((1, object()), "can't be written as JSON"),
        ((1, float("nan")), "can't be written as JSON"),
    ],
)
async def test_wrong_arguments_are_refused_before_anything_is_sent(
    tmp_path: Path, arguments: Any, complaint: str
) -> None:
    app = App(f"sqlite:///{tmp_path}/never-made.db")

    @app.task()
    def repeat(count: int, what=None) -> None:  # type: ignore[no-untyped-def]  # noqa: ANN001 - untyped on purpose
        pass

    with pytest.raises(WrongArguments, match=complaint):
        await repeat.submit(*arguments)
    with pytest.raises(WrongArguments, match=complaint):
        repeat.delay(*arguments)
    assert not (tmp_path / "never-made.db").exists()


async def declared_jobs(app: App) -> list[Job]:
    async with opened(app.settings()) as resources, local_client(resources) as client:
        return [job async for job in client.jobs()]


def scheduled_app(folder: Path, schedule: str | None, **options: Any) -> App:
    app = App(f"sqlite:///{folder}/mainspring.db")

    @app.task("report", schedule=schedule, **options)
    def report(day: str = "today") -> None:
        pass

    return app


async def test_declared_schedules_are_registered_once_and_follow_the_code(tmp_path: Path) -> None:
    first = scheduled_app(tmp_path, "0 6 * * *", timezone="Europe/Berlin", retries=5)
    for _ in range(2):
        async with first.worker():
            pass
    [job] = await declared_jobs(first)
    assert (job.schedule, job.timezone, job.max_retries) == ("0 6 * * *", "Europe/Berlin", 5)
    assert job.payload == {"args": [], "kwargs": {}}

    changed = scheduled_app(tmp_path, "30 7 * * *", timezone="Europe/Berlin", retries=2)
    for app in (changed, changed, first, changed):
        async with app.worker():
            pass
    [after] = await declared_jobs(changed)
    assert (after.id, after.schedule, after.max_retries) == (job.id, "30 7 * * *", 2)

    async with scheduled_app(tmp_path, None).worker():
        pass
    [withdrawn] = await declared_jobs(changed)
    assert (withdrawn.id, withdrawn.schedule, withdrawn.next_run_time) == (job.id, "on-demand", None)
    async with first.worker():
        pass
    [again] = await declared_jobs(first)
    assert (again.id, again.schedule) == (job.id, "0 6 * * *")


async def test_the_clock_calls_a_task_that_has_a_schedule(app: App) -> None:
    called = asyncio.Event()

    @app.task(schedule=timedelta(seconds=1))
    async def tick() -> None:
        called.set()

    async with app.worker():
        await asyncio.wait_for(called.wait(), 60)


def test_a_schedule_needs_a_function_that_can_be_called_alone(app: App) -> None:
    def report(day: str) -> None:
        pass

    with pytest.raises(ConfigurationError, match="missing a required argument: 'day'"):
        app.task(schedule="0 6 * * *")(report)
    with pytest.raises(ConfigurationError, match="with parentheses"):
        app.task(report)  # type: ignore[arg-type]  # the mistake


async def test_a_function_sees_its_run_and_others_do_not(app: App) -> None:
    @app.task()
    async def attempt() -> int:
        await asyncio.sleep(0)
        return app.context.attempt

    @app.task()
    def handler() -> str:
        app.context.print("seen")
        return app.context.handler

    async with app.worker():
        assert await (await attempt.submit()).result(at_most=LONG) == 1
        assert await (await handler.submit()).result(at_most=LONG) == handler.name
    with pytest.raises(LookupError, match="no task runs here"):
        await attempt()


async def test_options_can_be_given_per_submission(app: App) -> None:
    @app.task("work", priority=10, lane="slow")
    def work(number: int) -> int:
        return number

    first = await work.using(key="once", priority=90).submit(1)
    again = await work.using(key="once", priority=90).submit(1)
    late = await work.submit_at(datetime(2040, 1, 1, tzinfo=UTC), 2)
    assert first.id == again.id
    jobs = {job.id: job for job in await declared_jobs(app)}
    assert (jobs[first.id].priority, jobs[first.id].lane, jobs[first.id].key) == (90, "slow", "once")
    assert (jobs[late.id].priority, jobs[late.id].next_run_time) == (10, datetime(2040, 1, 1, tzinfo=UTC))


async def test_a_payload_that_does_not_fit_fails_for_good(app: App) -> None:
    @app.task("double")
    def double(number: int) -> int:
        return 2 * number

    async with app.worker(), opened(app.settings()) as resources, local_client(resources) as client:
        job = await client.submit("double", {"args": ["many"]}, allow_unknown_handler=True)
        with pytest.raises(JobFailed, match="number: input should be a valid integer"):
            await client.result(job, timeout=LONG)
        assert (await client.execution(job.id)).attempt == 1
        assert await client.result(await client.submit("double", {"kwargs": {"number": 4}}), timeout=LONG) == 8


def test_an_application_of_a_server_has_no_worker() -> None:
    with pytest.raises(ConfigurationError, match="a worker needs its store"):
        App("http://127.0.0.1:8080").settings()


def test_a_failing_store_is_told_to_the_caller_and_tried_again_by_the_next(tmp_path: Path) -> None:
    (tmp_path / "folder").touch()
    app = App(f"sqlite:///{tmp_path}/folder/mainspring.db")

    @app.task()
    def work() -> None:
        pass

    with pytest.raises(ConfigurationError):
        work.delay()
    (tmp_path / "folder").unlink()
    work.delay()
    app.close()


TASKS = """
import os
from mainspring import App

app = App()

@app.task()
def process_id() -> int:
    return os.getpid()

@app.task(isolate=True)
async def isolated(text: str) -> tuple[int, str]:
    return os.getpid(), text.upper()

@app.task(schedule="0 6 * * *")
def daily() -> None:
    pass
"""


@pytest.mark.slow
def test_a_worker_of_its_own_finds_the_application(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "tasks_of_a_worker.py").write_text(TASKS, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setenv("MAINSPRING_STORE", f"sqlite:///{tmp_path}/mainspring.db")
    tasks = importlib.import_module("tasks_of_a_worker")
    program = str(Path(sys.executable).parent / "mainspring")
    worker = subprocess.Popen([program, "worker", "--app", "tasks_of_a_worker:app", "--data", str(tmp_path)])
    try:
        assert tasks.process_id.delay().wait(at_most=LONG) == worker.pid
        child, text = tasks.isolated.delay("abc").wait(at_most=LONG)
        assert child not in (os.getpid(), worker.pid)
        assert text == "ABC"
        assert [
            job.schedule for job in asyncio.run(declared_jobs(tasks.app)) if job.key == "task/tasks_of_a_worker.daily"
        ]
    finally:
        worker.terminate()
        assert worker.wait() == 0
        tasks.app.close()
        del sys.modules["tasks_of_a_worker"]
