"""Tasks that are forgotten before they end fail a test: asyncio only logs them, when they happen to be collected."""

import asyncio
import gc
import logging
from collections.abc import Iterator

import pytest

MARK = "Task was destroyed but it is pending"


class LostTasks(logging.Handler):
    """What asyncio has said of them since it was asked last."""

    def __init__(self) -> None:
        super().__init__()
        self._said: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        message = record.getMessage()
        if MARK in message:
            self._said.append(message)

    def check(self) -> None:
        """Fail if it has said something."""
        said, self._said = self._said, []
        if said:
            pytest.fail("here, or in a test before, nobody ended what was begun:\n" + "\n".join(said), pytrace=False)


def check_closed_loops() -> None:
    """Fail if a task waits in a loop that was closed: it may be long until it is collected."""
    gc.collect()
    tasks = [each for each in gc.get_objects() if issubclass(type(each), asyncio.Task)]  # a proxy may be dead
    lost = [str(each) for each in tasks if not each.done() and each.get_loop().is_closed()]
    if lost:
        pytest.fail("a loop was closed in which there were tasks:\n" + "\n".join(lost), pytrace=False)


@pytest.fixture(scope="session")
def lost_tasks() -> Iterator[LostTasks]:
    """Listens from the first test on; after the last one, everything that was lost is looked for."""
    handler = LostTasks()
    logger = logging.getLogger("asyncio")
    logger.addHandler(handler)
    yield handler
    try:
        check_closed_loops()
        handler.check()
    finally:
        logger.removeHandler(handler)


@pytest.fixture(autouse=True)
def no_task_is_lost(lost_tasks: LostTasks) -> Iterator[None]:
    """Fail the test after which it is noticed."""
    yield
    lost_tasks.check()
