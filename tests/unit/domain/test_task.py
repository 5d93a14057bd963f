from dataclasses import FrozenInstanceError
from datetime import timedelta

import pytest

from mainspring.domain.ids import Lane
from mainspring.domain.retry import RetryPolicy
from mainspring.domain.task import Task


def test_a_task_needs_nothing_but_a_handler() -> None:
    task = Task(handler="report")
    assert (task.payload, task.blob, task.lane, task.priority) == (b"null", None, Lane("default"), 50)
    assert (task.timeout, task.retry) == (timedelta(minutes=5), RetryPolicy())


def test_a_task_cannot_be_changed_by_what_shares_it() -> None:
    task = Task(handler="report")
    with pytest.raises(FrozenInstanceError):
        task.priority = 1  # type: ignore[misc]  # the point of the test
