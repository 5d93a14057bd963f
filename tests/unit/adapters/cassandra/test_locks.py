import asyncio
from contextlib import suppress
from datetime import timedelta
from random import Random

import pytest

from mainspring.adapters.cassandra.held_locks import enlist
from mainspring.adapters.cassandra.locks import SKEW, CassandraLocks
from mainspring.domain.ids import DEFAULT_OWNER
from mainspring.ports.locks import HeldBy, Lock
from tests.unit.adapters.cassandra.faults import Died, Fate
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


@EVERY_FATE
async def test_a_lock_whose_answer_was_lost_is_listed(fate: Fate) -> None:
    world = World()
    lock = await taken(CassandraLocks(world.process(fates=[fate]).context))
    assert (await CassandraLocks(world.process().context).held(DEFAULT_OWNER, limit=9)).locks == [lock]


@pytest.mark.parametrize("verbs", range(4))
async def test_a_lock_whose_holder_died_is_listed_for_as_long_as_it_is_held(verbs: int) -> None:
    world = World()
    others = CassandraLocks(world.process().context)
    with suppress(Died):
        await taken(CassandraLocks(world.process(verbs_left=verbs).context))
    found = await others.find("door")
    assert list((await others.held(DEFAULT_OWNER, limit=9)).locks) == ([] if found is None else [found])


async def test_a_lock_that_somebody_was_about_to_take_is_not_listed() -> None:
    world = World()
    context = world.process().context
    locks = CassandraLocks(context)
    lock = await taken(locks)
    await locks.release(lock)
    await enlist(context.rows, lock)
    assert (await locks.held(DEFAULT_OWNER, limit=9)).locks == []


async def test_a_lock_behind_many_ends_that_others_never_had_is_on_a_later_page() -> None:
    world = World()
    locks = CassandraLocks(world.process().context)
    lock: Lock | None = await taken(locks)
    for _ in range(600):
        world.clock.advance(MOMENT)
        assert lock is not None
        lock = await locks.renew(lock, TTL)
    page = await locks.held(DEFAULT_OWNER, limit=9)
    assert page.locks == []
    assert (await locks.held(DEFAULT_OWNER, after=page.next, limit=9)).locks == [lock]


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
