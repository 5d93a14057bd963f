import asyncio
from collections.abc import Sequence

import asyncpg
import pytest

from mainspring.adapters.postgres.coalesce import Coalescer
from mainspring.adapters.postgres.failures import translation
from mainspring.errors import MainspringError

BAD = -1
MOST = 4


class Store:
    """Doubles numbers once it is let; refuses what is BAD, or everything once it is unreachable."""

    def __init__(self) -> None:
        self.sent: list[list[int]] = []
        self.open = asyncio.Event()
        self.reachable = True

    async def send(self, items: Sequence[int]) -> Sequence[int]:
        self.sent.append(list(items))
        await self.open.wait()
        if not self.reachable:
            raise _translated(ConnectionResetError("gone"))
        if BAD in items:
            raise _translated(asyncpg.DataError("not a number"))
        return [2 * item for item in items]


def _translated(error: Exception) -> MainspringError:
    translated = translation(error, "store")
    translated.__cause__ = error
    return translated


@pytest.fixture
def store() -> Store:
    return Store()


@pytest.fixture
def double(store: Store) -> Coalescer[int, int]:
    return Coalescer(store.send, most=MOST)


async def begun(double: Coalescer[int, int], *calls: list[int]) -> "list[asyncio.Task[Sequence[int]]]":
    """Calls that were made one after the other, none of which has been answered."""
    tasks = [asyncio.create_task(double(items)) for items in calls]
    await asyncio.sleep(0)
    return tasks


async def test_calls_that_come_while_one_is_under_way_go_together_as_the_next(
    store: Store, double: Coalescer[int, int]
) -> None:
    calls = await begun(double, [1], [2, 3], [4])
    assert store.sent == [[1]]
    store.open.set()
    assert await asyncio.gather(*calls) == [[2], [4, 6], [8]]
    assert store.sent == [[1], [2, 3, 4]]


async def test_a_call_after_all_were_answered_goes_at_once(store: Store, double: Coalescer[int, int]) -> None:
    store.open.set()
    await asyncio.gather(*await begun(double, [1], [2]))
    await asyncio.sleep(0)
    assert await double([3]) == [6]
    assert store.sent == [[1], [2], [3]]


async def test_no_more_than_the_most_go_together(store: Store, double: Coalescer[int, int]) -> None:
    calls = await begun(double, [1], [2, 3, 4], [5, 6], [7])
    store.open.set()
    assert await asyncio.gather(*calls) == [[2], [4, 6, 8], [10, 12], [14]]
    assert store.sent == [[1], [2, 3, 4], [5, 6, 7]]


async def test_a_large_call_goes_alone_and_at_once(store: Store, double: Coalescer[int, int]) -> None:
    calls = await begun(double, [1], [2] * (MOST + 1))
    assert store.sent == [[1], [2] * (MOST + 1)]
    store.open.set()
    await asyncio.gather(*calls)


async def test_a_failure_that_one_may_have_caused_is_found_out_one_by_one(
    store: Store, double: Coalescer[int, int]
) -> None:
    calls = await begun(double, [1], [2], [BAD], [4])
    store.open.set()
    answers = await asyncio.gather(*calls, return_exceptions=True)
    assert isinstance(answers.pop(2), MainspringError)
    assert answers == [[2], [4], [8]]
    assert store.sent == [[1], [2, BAD, 4], [2], [BAD], [4]]


async def test_a_failure_that_concerns_everybody_is_told_to_everybody(
    store: Store, double: Coalescer[int, int]
) -> None:
    calls = await begun(double, [1], [2], [3])
    store.reachable = False
    store.open.set()
    answers = await asyncio.gather(*calls, return_exceptions=True)
    assert all(isinstance(answer, MainspringError) for answer in answers)
    assert store.sent == [[1], [2, 3]]
    store.reachable = True
    assert await double([4]) == [8]


async def test_a_caller_who_leaves_takes_nobody_along(store: Store, double: Coalescer[int, int]) -> None:
    first, second, third = await begun(double, [1], [2], [3])
    first.cancel()
    await asyncio.sleep(0)
    second.cancel()
    store.open.set()
    assert await third == [6]
    assert first.cancelled()
    assert second.cancelled()


async def test_nobody_waits_for_a_sender_that_was_cancelled(store: Store, double: Coalescer[int, int]) -> None:
    first, second, third = await begun(double, [1], [2, 3, 4], [5, 6])
    first.cancel()
    await asyncio.gather(first, return_exceptions=True)
    await asyncio.sleep(0)
    assert store.sent == [[1], [2, 3, 4]]
    assert double._sender is not None
    double._sender.cancel()
    answers = await asyncio.gather(second, third, return_exceptions=True)
    assert [type(answer) for answer in answers] == [asyncio.CancelledError] * 2
    store.open.set()
    assert await double([7]) == [14]
