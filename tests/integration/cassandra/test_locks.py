"""Locks on a real node: whoever competes, every fence is held once."""

import asyncio
from datetime import timedelta

from mainspring.adapters.cassandra.context import Context
from mainspring.adapters.cassandra.cql import CqlRows
from mainspring.adapters.cassandra.driver import Driver
from mainspring.adapters.cassandra.locks import CassandraLocks
from mainspring.adapters.system.chance import SystemRandom
from mainspring.adapters.system.clock import SystemClock
from mainspring.cli.lock_bench import Terms, measure
from mainspring.ports.locks import Lock


def some_locks(driver: Driver) -> CassandraLocks:
    """The locks as a process of its own sees them."""
    return CassandraLocks(Context.over(CqlRows(driver), clock=SystemClock(), random=SystemRandom()))


async def test_fences_grow_while_many_compete(emptied_cassandra: Driver) -> None:
    terms = Terms(holders=8, names=2, duration=timedelta(seconds=1), ttl=timedelta(seconds=30), prefix="door")
    measured = await measure(some_locks(emptied_cassandra), terms)
    assert measured.sound
    assert (measured.lost, measured.errors) == (0, 0)
    assert measured.refused > 0


async def test_of_many_who_take_over_an_expired_lock_one_gets_the_next_fence(emptied_cassandra: Driver) -> None:
    first = await some_locks(emptied_cassandra).acquire("door", "ann", timedelta(milliseconds=1))
    assert isinstance(first, Lock)
    taken: list[Lock] = []

    async def take(holder: str) -> None:
        locks = some_locks(emptied_cassandra)
        while not taken:
            answer = await locks.acquire("door", holder, timedelta(seconds=30))
            if isinstance(answer, Lock):
                taken.append(answer)
            else:
                await asyncio.sleep(min(answer.remaining.total_seconds(), 0.1))

    await asyncio.gather(*(take(f"holder-{number}") for number in range(6)))
    assert [lock.fence for lock in taken] == [first.fence + 1]
