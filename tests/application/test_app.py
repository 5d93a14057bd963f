import asyncio
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import pytest

from mainspring import App
from mainspring.application import WrongArguments

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
