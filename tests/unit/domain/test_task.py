from datetime import timedelta

from mainspring.domain.ids import Lane
from mainspring.domain.retry import RetryPolicy
from mainspring.domain.task import Task


def test_a_task_needs_nothing_but_a_handler() -> None:
    task = Task(handler="report")
    assert (task.payload, task.blob, task.lane, task.priority) == (b"null", None, Lane("default"), 50)
    assert (task.timeout, task.retry) == (timedelta(minutes=5), RetryPolicy())
