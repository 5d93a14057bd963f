"""Answers are big, and many: they go when they were read, not when somebody looks for what nobody refers to."""

import gc
import weakref
from collections.abc import Iterator
from typing import Any

import pytest

from mainspring.adapters.cassandra.cql import CqlRows
from mainspring.adapters.cassandra.driver import Driver
from mainspring.adapters.cassandra.layout import EVERYTHING
from mainspring.adapters.cassandra.tables import SIGNAL

ENOUGH = 1_000
"""Statements after which the driver has thrown away the timers of the first."""


@pytest.fixture
def _nobody_collects() -> Iterator[None]:
    gc.disable()
    yield
    gc.enable()


@pytest.mark.usefixtures("_nobody_collects")
async def test_an_answer_that_was_read_goes_by_itself(
    cassandra_driver: Driver, monkeypatch: pytest.MonkeyPatch
) -> None:
    execute = cassandra_driver.session.execute_async
    asked: list[weakref.ref[Any]] = []

    def watched(*arguments: Any, **options: Any) -> Any:
        future = execute(*arguments, **options)
        asked.append(weakref.ref(future))
        return future

    monkeypatch.setattr(cassandra_driver.session, "execute_async", watched)
    rows = CqlRows(cassandra_driver)
    while len(asked) < ENOUGH and (not asked or asked[0]() is not None):
        await rows.slice(SIGNAL, (EVERYTHING,), limit=1)
    assert asked[0]() is None
