import asyncio
from datetime import timedelta
from random import Random

import pytest

from mainspring.adapters.cassandra.locks import SKEW, CassandraLocks
from mainspring.ports.locks import HeldBy, Lock
from tests.unit.adapters.cassandra.faults import Fate
from tests.unit.adapters.cassandra.world import World

TTL = timedelta(seconds=30)
MOMENT = timedelta(milliseconds=1)
EVERY_FATE = pytest.mark.parametrize("fate", Fate)


async def taken(locks: CassandraLocks, holder: str = "ann") -> Lock:
    lock = await locks.acquire("door", holder, TTL)
    assert isinstance(lock, Lock)
    return lock


@EVERY_FATE
async def test_a_lock_whose_answer_was_lost_is_held_once(fate: Fate) -> None:
    world = World()
    lock = await taken(CassandraLocks(world.process(fates=[fate]).context))
    others = CassandraLocks(world.process().context)
    assert await others.find("door") == lock
    assert isinstance(await others.acquire("door", "ben", TTL), HeldBy)


@EVERY_FATE
async def test_a_takeover_whose_answer_was_lost_uses_one_fence(fate: Fate) -> None:
    world = World()
    first = await taken(CassandraLocks(world.process().context))
    world.clock.advance(TTL + SKEW)
    second = await taken(CassandraLocks(world.process(fates=[fate]).context), "ben")
    assert second.fence == first.fence + 1


@EVERY_FATE
async def test_a_renewal_and_a_release_whose_answers_were_lost_are_made(fate: Fate) -> None:
    world = World()
    lock = await taken(CassandraLocks(world.process().context))
    world.clock.advance(TTL / 2)
    unlucky = CassandraLocks(world.process(fates=[fate, None, fate]).context)
    renewed = await unlucky.renew(lock, TTL)
    assert renewed is not None
    assert await unlucky.find("door") == renewed
    unlucky = CassandraLocks(world.process(fates=[fate]).context)
    assert await unlucky.release(renewed)
    assert await unlucky.find("door") is None


async def test_others_leave_an_expired_lock_alone_for_as_long_as_clocks_may_differ() -> None:
    world = World()
    locks = CassandraLocks(world.process().context)
    first = await taken(locks)
    world.clock.advance(TTL + SKEW - MOMENT)
    answer = await locks.acquire("door", "ben", TTL)
    assert answer == HeldBy(holder="ann", remaining=MOMENT)
    world.clock.advance(MOMENT)
    assert (await taken(locks, "ben")).fence == first.fence + 1


async def test_a_holder_need_not_wait_for_itself_nor_anybody_for_what_was_released() -> None:
    world = World()
    locks = CassandraLocks(world.process().context)
    first = await taken(locks)
    world.clock.advance(TTL)
    second = await taken(locks)
    assert second.fence == first.fence + 1
    assert await locks.release(second)
    assert (await taken(locks, "ben")).fence == second.fence + 1


@pytest.mark.parametrize("seed", range(30))
async def test_every_fence_is_held_by_one_whatever_is_heard_and_whoever_comes_in_between(seed: int) -> None:
    world, chance = World(), Random(seed)
    held: list[tuple[int, str]] = []

    async def hold(number: int) -> None:
        fates = [chance.choice([None, None, *Fate]) for _ in range(40)]
        locks = CassandraLocks(world.process(chance=Random(chance.random()), fates=fates).context)
        for turn in range(4):
            holder = f"{number}/{turn}"
            if isinstance(lock := await locks.acquire("door", holder, TTL), Lock):
                held.append((lock.fence, holder))
                if chance.random() < 0.7:
                    await locks.release(lock)
                else:
                    world.clock.advance(TTL + SKEW)

    await asyncio.gather(*(hold(number) for number in range(3)))
    fences = [fence for fence, _ in held]
    assert len(fences) == len(set(fences))
    assert held
