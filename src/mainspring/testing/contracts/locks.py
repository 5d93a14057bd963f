"""The `Locks` port: one holder at a time, and fences that never start again."""

import asyncio
from dataclasses import replace
from datetime import timedelta

import pytest

from mainspring.domain.ids import Fence
from mainspring.ports.locks import HeldBy, Lock, Locks
from mainspring.testing.clock import Time
from mainspring.testing.contracts.base import LONGER, SHORT, Store, StoreContract
from mainspring.testing.contracts.held_locks import HeldLocksContract, taken
from mainspring.testing.factories import LONG


class LocksContract(HeldLocksContract, StoreContract):
    """All that is asked of `Locks`; an adapter without a store gives `locks` and `second_locks`."""

    @pytest.fixture
    async def locks(self, store: Store) -> Locks:
        """Where no lock was ever taken."""
        return store.locks

    @pytest.fixture
    async def second_locks(self, second_store: Store) -> Locks:
        """The same locks through another handle, as after a restart."""
        return second_store.locks

    async def test_a_free_lock_is_acquired(self, locks: Locks) -> None:
        lock = await taken(locks, "door", "ann")
        assert (lock.name, lock.holder) == ("door", "ann")
        assert lock.fence > 0
        assert await locks.find("door") == lock

    async def test_a_lock_that_nobody_took_is_not_found(self, locks: Locks) -> None:
        assert await locks.find("door") is None

    async def test_whoever_comes_second_learns_who_holds_it_and_for_how_long(self, locks: Locks) -> None:
        lock = await taken(locks, "door", "ann")
        answer = await locks.acquire("door", "ben", LONG)
        assert isinstance(answer, HeldBy)
        assert answer.holder == "ann"
        assert timedelta(0) < answer.remaining <= LONG + self.lock_skew
        assert await locks.find("door") == lock

    async def test_a_holder_that_asks_again_gets_its_own_lock_extended(self, locks: Locks) -> None:
        first = await taken(locks, "door", "ann")
        again = await taken(locks, "door", "ann", 2 * LONG)
        assert again.fence == first.fence
        assert again.expires_at > first.expires_at

    async def test_locks_of_other_names_are_other_locks(self, locks: Locks) -> None:
        await taken(locks, "door", "ann")
        await taken(locks, "window", "ben")

    async def test_fences_grow_over_releases(self, locks: Locks, second_locks: Locks) -> None:
        fences = []
        for handle, holder in ((locks, "ann"), (second_locks, "ben"), (locks, "ben"), (second_locks, "ann")):
            lock = await taken(handle, "door", holder)
            fences.append(lock.fence)
            assert await handle.release(lock)
        assert fences == sorted(set(fences))

    async def test_a_lock_expires_by_the_stores_clock_and_its_fence_is_spent(self, locks: Locks, time: Time) -> None:
        first = await taken(locks, "door", "ann", SHORT)
        await time.pass_(LONGER)
        assert await locks.find("door") is None
        await time.pass_(self.lock_skew)
        second = await taken(locks, "door", "ben")
        assert second.fence > first.fence

    async def test_a_holder_whose_lock_has_expired_gets_a_new_fence(self, locks: Locks, time: Time) -> None:
        first = await taken(locks, "door", "ann", SHORT)
        await time.pass_(LONGER)
        assert (await taken(locks, "door", "ann")).fence > first.fence

    async def test_a_lock_that_expired_is_taken_over_and_one_that_was_given_up_is_not(
        self, locks: Locks, second_locks: Locks, time: Time
    ) -> None:
        first = await taken(locks, "door", "ann")
        assert not first.taken_over
        assert not (await taken(locks, "door", "ann", SHORT)).taken_over
        await time.pass_(LONGER + self.lock_skew)
        second = await taken(second_locks, "door", "ben")
        assert second.taken_over
        assert not (await taken(second_locks, "door", "ben")).taken_over
        assert await second_locks.release(second)
        third = await taken(locks, "door", "ann", SHORT)
        assert not third.taken_over
        await time.pass_(LONGER + self.lock_skew)
        assert (await taken(second_locks, "door", "ann")).taken_over

    async def test_of_those_that_find_an_expired_lock_one_takes_it_over(
        self, locks: Locks, second_locks: Locks, time: Time
    ) -> None:
        await taken(locks, "door", "gone", SHORT)
        await time.pass_(LONGER + self.lock_skew)
        answers = await asyncio.gather(
            *(
                handle.acquire("door", f"holder-{number}", LONG)
                for number, handle in enumerate([locks, second_locks] * 5)
            )
        )
        assert [answer.taken_over for answer in answers if isinstance(answer, Lock)] == [True]

    async def test_a_renewed_lock_lives_on_under_its_fence(self, locks: Locks) -> None:
        lock = await taken(locks, "door", "ann")
        renewed = await locks.renew(lock, 2 * LONG)
        assert renewed is not None
        assert (renewed.holder, renewed.fence) == ("ann", lock.fence)
        assert renewed.expires_at > lock.expires_at
        assert await locks.find("door") == renewed

    async def test_an_expired_lock_is_neither_renewed_nor_released(self, locks: Locks, time: Time) -> None:
        lock = await taken(locks, "door", "ann", SHORT)
        await time.pass_(LONGER)
        assert await locks.renew(lock, LONG) is None
        assert not await locks.release(lock)
        assert await locks.find("door") is None

    async def test_a_stale_fence_neither_renews_nor_releases(self, locks: Locks) -> None:
        stale = await taken(locks, "door", "ann")
        await locks.release(stale)
        current = await taken(locks, "door", "ann")
        assert await locks.renew(stale, LONG) is None
        assert not await locks.release(stale)
        assert await locks.find("door") == current

    async def test_another_holder_neither_renews_nor_releases(self, locks: Locks) -> None:
        lock = await taken(locks, "door", "ann")
        for foreign in (replace(lock, holder="ben"), replace(lock, fence=Fence(lock.fence + 1))):
            assert await locks.renew(foreign, LONG) is None
            assert not await locks.release(foreign)
        assert await locks.find("door") == lock

    async def test_a_lock_is_released_once(self, locks: Locks) -> None:
        lock = await taken(locks, "door", "ann")
        assert await locks.release(lock)
        assert not await locks.release(lock)
        assert await locks.find("door") is None
        assert await locks.renew(lock, LONG) is None

    async def test_of_concurrent_acquires_one_wins(self, locks: Locks, second_locks: Locks) -> None:
        for round_ in range(5):
            answers = await asyncio.gather(
                *(
                    handle.acquire(f"door-{round_}", f"holder-{number}", LONG)
                    for number, handle in enumerate([locks, second_locks] * 5)
                )
            )
            winners = [answer for answer in answers if isinstance(answer, Lock)]
            assert len(winners) == 1
            assert {answer.holder for answer in answers} == {winners[0].holder}
