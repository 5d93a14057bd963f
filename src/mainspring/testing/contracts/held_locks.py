"""The `Locks` port: listing what is held."""

from datetime import timedelta

import pytest

from mainspring.domain.ids import DEFAULT_OWNER
from mainspring.ports.locks import Bookmark, Lock, Locks, own_name, owned, owner_of
from mainspring.testing.clock import Time
from mainspring.testing.contracts.base import LONGER, SHORT
from mainspring.testing.factories import LONG


async def taken(locks: Locks, name: str, holder: str, ttl: timedelta = LONG) -> Lock:
    """Acquire a lock that is free."""
    lock = await locks.acquire(name, holder, ttl)
    assert isinstance(lock, Lock)
    return lock


async def all_held(locks: Locks, owner: str = DEFAULT_OWNER, *, limit: int = 100) -> list[Lock]:
    """Page after page."""
    found: list[Lock] = []
    after: Bookmark | None = None
    while True:
        page = await locks.held(owner, after=after, limit=limit)
        assert len(page.locks) <= limit
        found += page.locks
        if page.next is None:
            return found
        after = page.next


class HeldLocksContract:
    """What is asked of `Locks.held`."""

    async def test_where_nobody_took_a_lock_none_is_listed(self, locks: Locks) -> None:
        assert await all_held(locks) == []

    async def test_held_locks_are_listed_as_they_are_held_and_those_first_that_end_first(
        self, locks: Locks, second_locks: Locks
    ) -> None:
        late = await taken(locks, "a", "ann", 3 * LONG)
        soon = await taken(second_locks, "c", "ben", LONG)
        between = await taken(locks, "b/\N{SNOWMAN}", "cid", 2 * LONG)
        assert await all_held(locks) == [soon, between, late]

    async def test_what_was_given_up_or_has_expired_is_not_listed(self, locks: Locks, time: Time) -> None:
        await locks.release(await taken(locks, "given-up", "ann"))
        await taken(locks, "expired", "ann", SHORT)
        held = await taken(locks, "held", "ann")
        await time.pass_(LONGER)
        assert await all_held(locks) == [held]

    async def test_a_lock_is_listed_once_however_often_it_was_renewed_and_changed_hands(self, locks: Locks) -> None:
        lock = await taken(locks, "door", "ann")
        for _ in range(3):
            renewed = await locks.renew(lock, 2 * LONG)
            assert renewed is not None
            await locks.release(renewed)
            lock = await taken(locks, "door", "ben")
        assert await all_held(locks) == [lock]

    async def test_owners_see_their_own_locks_only(self, locks: Locks) -> None:
        mine = await taken(locks, "door", "me")
        hers = await taken(locks, owned("ann", "door"), "ann")
        await taken(locks, owned("anna", "door"), "anna")
        await taken(locks, owned("", "door"), "a worker")
        assert await all_held(locks) == [mine]
        assert await all_held(locks, "ann") == [hers]
        assert (owner_of(hers.name), own_name(hers.name)) == ("ann", "door")
        assert await all_held(locks, "an") == []

    @pytest.mark.parametrize("limit", [1, 2, 5, 6])
    async def test_pages_neither_repeat_nor_leave_out(self, locks: Locks, limit: int) -> None:
        held = [await taken(locks, f"door-{number}", "ann", (9 - number) * LONG) for number in range(5)]
        assert await all_held(locks, limit=limit) == held[::-1]

    async def test_what_is_renewed_while_pages_are_turned_is_not_left_out(self, locks: Locks) -> None:
        [first, *rest] = [await taken(locks, f"door-{number}", "ann", (number + 1) * LONG) for number in range(4)]
        page = await locks.held(DEFAULT_OWNER, limit=1)
        renewed = await locks.renew(rest[0], 9 * LONG)
        assert renewed is not None
        assert page.locks == [first]
        assert page.next is not None
        following = await locks.held(DEFAULT_OWNER, after=page.next, limit=100)
        assert following.locks == [*rest[1:], renewed]

    async def test_a_page_begins_now_if_the_one_before_has_expired_since(self, locks: Locks, time: Time) -> None:
        await taken(locks, "soon", "ann", SHORT)
        held = await taken(locks, "door", "ann")
        page = await locks.held(DEFAULT_OWNER, limit=1)
        await time.pass_(LONGER)
        following = await locks.held(DEFAULT_OWNER, after=page.next, limit=1)
        assert following.locks == [held]
