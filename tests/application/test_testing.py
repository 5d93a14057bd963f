from datetime import UTC, datetime, timedelta

import pytest

from mainspring import App, JobFailed
from mainspring.client import Retry
from mainspring.client.errors import ResultTimeout
from mainspring.testing import inline, virtual


@pytest.fixture
def app() -> App:
    return App("sqlite:///never-made.db")


async def test_inline_tasks_run_in_the_caller(app: App) -> None:
    seen: list[str] = []

    @app.task("greet")
    async def greet(name: str, *, loud: bool = False) -> str:
        seen.append(name)
        return name.upper() if loud else name

    @app.task("count")
    def count(things: list[str]) -> int:
        return len(things)

    with inline(app) as calls:
        submitted = await greet.submit("Ada", loud=True)
        assert seen == ["Ada"]
        assert await submitted.result() == "ADA"
        assert greet.delay("Grace").wait() == "Grace"
        assert count.delay(["a", "b"]).wait() == 2
        await count.submit_in(timedelta(hours=1), [])
    assert [(call.task, call.args, call.schedule) for call in calls] == [
        ("greet", ["Ada"], None),
        ("greet", ["Grace"], None),
        ("count", [["a", "b"]], None),
        ("count", [[]], "in 3600s"),
    ]


async def test_inline_failures_reach_the_caller(app: App) -> None:
    @app.task()
    def divide(by: int) -> float:
        return 1 / by

    with inline(app), pytest.raises(ZeroDivisionError):
        await divide.submit(0)


async def test_a_delay_of_less_than_a_second_is_not_rounded(app: App) -> None:
    @app.task("pay")
    async def pay() -> None: ...

    async with virtual(app) as time:
        began = time.now
        await pay.submit_in(timedelta(milliseconds=200))
        assert await time.advance(milliseconds=199) == []
        [ran] = await time.advance(seconds=5)
    assert ran.at - began == timedelta(milliseconds=200)


async def test_a_cron_fires_at_each_of_its_moments(app: App) -> None:
    fired: list[datetime] = []

    @app.task(schedule="*/20 * * * *", timezone="Europe/Berlin")
    async def tick() -> None:
        fired.append(app.context.due_at)

    async with virtual(app, start=datetime(2030, 1, 1, 6, 10, tzinfo=UTC)) as time:
        ran = await time.advance(hours=1)
        assert time.now == datetime(2030, 1, 1, 7, 10, tzinfo=UTC)
    assert [(each.hour, each.minute) for each in fired] == [(6, 20), (6, 40), (7, 0)]
    assert [each.at for each in ran] == fired


async def test_what_fails_is_tried_again_at_its_time(app: App) -> None:
    @app.task("flaky", retries=3, retry=Retry(kind="fixed", initial=timedelta(minutes=5), max=timedelta(minutes=5)))
    def flaky() -> str:
        if app.context.attempt < 3:
            raise ValueError("not yet")
        return "at last"

    async with virtual(app) as time:
        submitted = await flaky.submit()
        began = time.now
        assert [(each.attempt, each.outcome) for each in await time.advance()] == [(1, "retried")]
        with pytest.raises(ResultTimeout):
            await submitted.result()
        ran = await time.advance(minutes=10)
        assert [(each.at - began, each.outcome) for each in ran] == [
            (timedelta(minutes=5), "retried"),
            (timedelta(minutes=10), "completed"),
        ]
        assert await submitted.result() == "at last"


async def test_what_fails_for_good_says_why(app: App) -> None:
    @app.task("hopeless", retries=0)
    async def hopeless() -> None:
        raise RuntimeError("no chance")

    async with virtual(app) as time:
        submitted = hopeless.delay()
        [ran] = await time.advance()
        assert ran.outcome == "failed"
        with pytest.raises(JobFailed, match="no chance"):
            submitted.wait()


async def test_a_task_submits_another_which_runs_in_its_turn(app: App) -> None:
    order: list[str] = []

    @app.task("second")
    def second() -> None:
        order.append("second")

    @app.task("first")
    async def first() -> None:
        order.append("first")
        await second.submit_in(timedelta(minutes=1))

    async with virtual(app) as time:
        await first.submit()
        assert [each.task for each in await time.advance(seconds=59)] == ["first"]
        assert [each.task for each in await time.advance(seconds=1)] == ["second"]
    assert order == ["first", "second"]
