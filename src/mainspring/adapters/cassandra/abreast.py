"""Doing the same to many things at once, each in partitions of its own."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import TypeVar

MOST_ABREAST = 32
"""Requests that one verb has under way: more only wait inside the server."""

T = TypeVar("T")
R = TypeVar("R")


async def abreast(act: Callable[[T], Awaitable[R]], items: Sequence[T]) -> list[R]:
    """The answers in the order of *items*. What fails keeps nobody from finishing; the first failure is raised then."""
    answers: list[R] = []
    failures: list[BaseException] = []
    for start in range(0, len(items), MOST_ABREAST):
        outcomes = await asyncio.gather(
            *(act(item) for item in items[start : start + MOST_ABREAST]), return_exceptions=True
        )
        for outcome in outcomes:
            if isinstance(outcome, BaseException):
                failures.append(outcome)
            else:
                answers.append(outcome)
    if failures:
        raise failures[0]
    return answers
