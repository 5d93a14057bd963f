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
        self.reachable = True
        self._let = asyncio.Semaphore(0)

    def let(self, batches: int = 100) -> None:
        """Answer so many batches, those that came first."""
        for _ in range(batches):
            self._let.release()

    async def send(self, items: Sequence[int]) -> Sequence[int]:
        self.sent.append(list(items))
        await self._let.acquire()
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


async def test_two_calls_are_under_way_at_a_time(store: Store, double: Coalescer[int, int]) -> None:
    calls = await begun(double, [1], [2, 3], [4])
    assert store.sent == [[1], [2, 3]]
    store.let()
    assert await asyncio.gather(*calls) == [[2], [4, 6], [8]]
    assert store.sent == [[1], [2, 3], [4]]


async def test_calls_that_come_while_two_are_under_way_go_together_as_the_next(
    store: Store, double: Coalescer[int, int]
) -> None:
    calls = await begun(double, [1, 1, 1], [2], [3], [4])
    store.let(batches=1)
    await calls[0]
    calls += await begun(double, [5])
    assert store.sent == [[1, 1, 1], [2], [3, 4]]
    store.let()
    assert await asyncio.gather(*calls) == [[2, 2, 2], [4], [6], [8], [10]]
    assert store.sent == [[1, 1, 1], [2], [3, 4], [5]]


async def test_no_batch_takes_more_than_half_of_all_there_is(store: Store, double: Coalescer[int, int]) -> None:
    calls = await begun(double, [1], [2], [3], [4], [5], [6])
    store.let(batches=2)
    await asyncio.gather(*calls[:2])
    await asyncio.sleep(0)
    assert store.sent == [[1], [2], [3, 4], [5, 6]]
    store.let()
    await asyncio.gather(*calls)


async def test_a_call_after_all_were_answered_goes_at_once(store: Store, double: Coalescer[int, int]) -> None:
    store.let()
    await asyncio.gather(*await begun(double, [1], [2], [3]))
    await asyncio.sleep(0)
    assert await double([4]) == [8]
    assert store.sent == [[1], [2], [3], [4]]


async def test_no_more_than_the_most_go_together(store: Store, double: Coalescer[int, int]) -> None:
    calls = await begun(double, [1], [1], *([number] for number in range(2, 2 + 3 * MOST)))
    store.let()
    await asyncio.gather(*calls)
    assert max(map(len, store.sent)) == MOST


async def test_a_large_call_goes_alone_and_at_once(store: Store, double: Coalescer[int, int]) -> None:
    calls = await begun(double, [1], [2], [3] * (MOST + 1))
    assert store.sent == [[1], [2], [3] * (MOST + 1)]
    store.let()
    await asyncio.gather(*calls)


async def test_a_failure_that_one_may_have_caused_is_found_out_one_by_one(
    store: Store, double: Coalescer[int, int]
) -> None:
    calls = await begun(double, [1, 1, 1], [1], [2], [BAD], [4])
    store.let(batches=1)
    await calls[0]
    store.let()
    answers = await asyncio.gather(*calls[2:], return_exceptions=True)
    assert isinstance(answers.pop(1), MainspringError)
    assert answers == [[4], [8]]
    assert [2, BAD] in store.sent
    assert [4] in store.sent


async def test_a_failure_that_concerns_everybody_is_told_to_everybody(
    store: Store, double: Coalescer[int, int]
) -> None:
    calls = await begun(double, [1, 1, 1], [1], [2], [3])
    store.let(batches=1)
    await calls[0]
    store.reachable = False
    store.let()
    answers = await asyncio.gather(*calls[1:], return_exceptions=True)
    assert all(isinstance(answer, MainspringError) for answer in answers)
    assert store.sent == [[1, 1, 1], [1], [2, 3]]
    store.reachable = True
    assert await double([4]) == [8]


async def test_a_caller_who_leaves_takes_nobody_along(store: Store, double: Coalescer[int, int]) -> None:
    first, other, second, third = await begun(double, [1], [1], [2], [3])
    first.cancel()
    await asyncio.sleep(0)
    second.cancel()
    store.let()
    assert await third == [6]
    assert await other == [2]
    assert first.cancelled()
    assert second.cancelled()


async def test_nobody_waits_for_a_sender_that_was_cancelled(store: Store, double: Coalescer[int, int]) -> None:
    first, other, second, third = await begun(double, [1], [1], [2, 3, 4], [5, 6])
    first.cancel()
    await asyncio.gather(first, return_exceptions=True)
    await asyncio.sleep(0)
    assert store.sent == [[1], [1], [2, 3, 4]]
    (sender,) = double._senders
    sender.cancel()
    answers = await asyncio.gather(second, third, return_exceptions=True)
    assert [type(answer) for answer in answers] == [asyncio.CancelledError] * 2
    store.let()
    assert await other == [2]
    assert await double([7]) == [14]
