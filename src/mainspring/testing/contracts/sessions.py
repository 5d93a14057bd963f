"""The `Sessions` port: alive until their time is up, and what they hold is never forgotten."""

from datetime import timedelta

from mainspring.domain.ids import Lane, SessionId
from mainspring.domain.outcome import Failed, HandedBack, Lost, Succeeded
from mainspring.domain.task import BACKSTOP
from mainspring.ports.sessions import Heard, News, Role
from mainspring.ports.work import Cancel
from mainspring.testing.clock import Time
from mainspring.testing.contracts.base import (
    LONGER,
    SHORT,
    Store,
    StoreContract,
    a_worker,
    added,
    claimed,
    claimed_one,
    held,
    past,
    settled,
)
from mainspring.testing.factories import LONG, Factory, a_session

NOTHING_HELD = Heard(held={}, cancelling=frozenset())
DRAINING = Heard(held={}, cancelling=frozenset(), draining=True)
SOON_OVERDUE = SHORT - BACKSTOP
"""A timeout whose backstop comes after `SHORT`: no test waits for the half minute in between."""


async def wishes(store: Store) -> dict[SessionId, tuple[bool, bool]]:
    """Who is asked to drain, and who says that it has."""
    return {each.id: (each.draining, each.drained) for each in await store.sessions.live(Role.WORKER)}


class SessionsContract(StoreContract):
    """All that is asked of `Sessions`."""

    async def test_every_session_has_an_id_of_its_own(self, store: Store) -> None:
        assert len({await a_worker(store, "same-name") for _ in range(5)}) == 5

    async def test_a_member_is_shown_as_it_came(self, store: Store) -> None:
        lanes = {"a": Lane("left"), "b": Lane("right"), "c": Lane("left")}
        session = await store.sessions.open(a_session("w", host="h", pid=42, capacity=7, handlers=lanes))
        (member,) = await store.sessions.live(Role.WORKER)
        assert (member.id, member.role, member.name) == (session, Role.WORKER, "w")
        assert (member.host, member.pid, member.capacity, member.executing) == ("h", 42, 7, 0)
        assert sorted(member.lanes) == [Lane("left"), Lane("right")]
        assert (member.beat_at, member.skew) == (member.opened_at, timedelta(0))

    async def test_live_sessions_are_ordered_by_name_and_told_apart_by_role(self, store: Store) -> None:
        for name in ("b", "c", "a"):
            await a_worker(store, name)
        await store.sessions.open(a_session("s", role=Role.SCHEDULER, handlers={}))
        assert [member.name for member in await store.sessions.live(Role.WORKER)] == ["a", "b", "c"]
        (scheduler,) = await store.sessions.live(Role.SCHEDULER)
        assert (scheduler.name, list(scheduler.lanes)) == ("s", [])

    async def test_a_heartbeat_tells_news_and_extends_the_session(self, store: Store, time: Time) -> None:
        session = await a_worker(store)
        (before,) = await store.sessions.live(Role.WORKER)
        await time.pass_(SHORT)
        assert await store.sessions.beat(session, News(executing=3)) == NOTHING_HELD
        (after,) = await store.sessions.live(Role.WORKER)
        assert after.executing == 3
        assert after.beat_at >= before.beat_at + SHORT - timedelta(milliseconds=1)
        assert after.opened_at == before.opened_at

    async def test_a_heartbeat_keeps_a_session_beyond_its_first_time(self, store: Store, time: Time) -> None:
        # Long enough for a busy server to answer in between.
        ttl = timedelta(milliseconds=500)
        session = await a_worker(store, ttl=ttl)
        await time.pass_(ttl * 3 / 5)
        beat_after = await store.views.now()
        assert await store.sessions.beat(session, News()) == NOTHING_HELD
        await time.pass_(ttl * 3 / 5)
        await store.sessions.bury(10)
        members = [member.id for member in await store.sessions.live(Role.WORKER)]
        # Missing only where the store was so slow that the second time was up, too.
        assert members == [session] or await store.views.now() >= beat_after + ttl

    async def test_a_clock_that_goes_wrong_is_seen_as_skew(self, store: Store) -> None:
        ahead, behind = await a_worker(store, "ahead"), await a_worker(store, "behind")
        await store.sessions.beat(ahead, News(clock=await past(store, -100)))
        await store.sessions.beat(behind, News(clock=await past(store, 100)))
        skews = {member.name: member.skew for member in await store.sessions.live(Role.WORKER)}
        assert timedelta(seconds=50) < skews["ahead"] <= timedelta(seconds=100)
        assert skews["behind"] <= timedelta(seconds=-100)

    async def test_a_heartbeat_names_what_is_held_and_what_is_flagged(self, store: Store, make: Factory) -> None:
        session = await a_worker(store)
        attempts = [await held(store, session, make.run()) for _ in range(4)]
        await settled(store, attempts[0], Succeeded())
        await settled(store, attempts[1], HandedBack(delay=LONG))
        await store.work.steer(attempts[2].run_id, Cancel())
        heard = await store.sessions.beat(session, News())
        assert heard == Heard(
            held={attempt.run_id: attempt.fence for attempt in attempts[2:]},
            cancelling=frozenset({attempts[2].run_id}),
        )

    async def test_sessions_do_not_hear_of_each_others_runs(self, store: Store, make: Factory) -> None:
        first, second = await a_worker(store, "worker-1"), await a_worker(store, "worker-2")
        await held(store, first, make.run())
        assert await store.sessions.beat(second, News()) == NOTHING_HELD

    async def test_a_closed_session_never_revives(self, store: Store) -> None:
        session = await a_worker(store)
        for _ in range(2):
            await store.sessions.close(session)
            assert await store.sessions.beat(session, News()) is None
            assert not await store.sessions.live(Role.WORKER)

    async def test_a_wish_to_drain_is_shown_and_heard_until_it_is_taken_back(self, store: Store) -> None:
        session, other = await a_worker(store), await a_worker(store, "other")
        for _ in range(2):
            assert await store.sessions.drain(session)
            assert await store.sessions.beat(session, News()) == DRAINING
            assert await wishes(store) == {session: (True, False), other: (False, False)}
        assert await store.sessions.beat(other, News()) == NOTHING_HELD
        for _ in range(2):
            assert await store.sessions.resume(session)
            assert await store.sessions.beat(session, News()) == NOTHING_HELD
            assert await wishes(store) == {session: (False, False), other: (False, False)}

    async def test_the_trouble_of_a_session_is_what_it_said_last(self, store: Store) -> None:
        session = await a_worker(store)
        for trouble in (None, "this process is short of memory: %s '\u2026'", None):
            await store.sessions.beat(session, News(trouble=trouble))
            [member] = await store.sessions.live(Role.WORKER)
            assert member.trouble == trouble

    async def test_a_session_is_drained_once_it_says_so_itself(self, store: Store) -> None:
        session = await a_worker(store)
        await store.sessions.beat(session, News(drained=True))
        assert await wishes(store) == {session: (False, False)}
        await store.sessions.drain(session)
        assert await wishes(store) == {session: (True, False)}
        await store.sessions.beat(session, News(drained=True))
        await store.sessions.drain(session)
        assert await wishes(store) == {session: (True, True)}
        await store.sessions.beat(session, News())
        assert await wishes(store) == {session: (True, False)}
        await store.sessions.beat(session, News(drained=True))
        await store.sessions.resume(session)
        assert await wishes(store) == {session: (False, False)}

    async def test_a_draining_session_keeps_what_it_holds_and_names_it(self, store: Store, make: Factory) -> None:
        session = await a_worker(store)
        attempt = await held(store, session, make.run())
        await store.sessions.drain(session)
        heard = await store.sessions.beat(session, News(executing=1))
        assert heard == Heard(held={attempt.run_id: attempt.fence}, cancelling=frozenset(), draining=True)
        assert not await store.sessions.bury(10)
        await settled(store, attempt, Succeeded())

    async def test_a_wish_ends_with_its_session(self, store: Store, time: Time) -> None:
        closed, buried = await a_worker(store), await a_worker(store, "other", ttl=SHORT)
        await store.sessions.drain(closed)
        await store.sessions.close(closed)
        await time.pass_(LONGER)
        await store.sessions.bury(10)
        for ended in (closed, buried, SessionId(closed + 1000)):
            assert not await store.sessions.drain(ended)
            assert not await store.sessions.resume(ended)
        successor = await a_worker(store)
        assert await wishes(store) == {successor: (False, False)}

    async def test_a_process_that_lost_its_session_can_go_on_draining_in_the_next(self, store: Store) -> None:
        session = await store.sessions.open(a_session("w", draining=True))
        assert await wishes(store) == {session: (True, False)}
        assert await store.sessions.beat(session, News()) == DRAINING

    async def test_a_session_whose_time_is_up_is_not_shown_as_live(self, store: Store, time: Time) -> None:
        await a_worker(store, ttl=SHORT)
        other = await a_worker(store, "other")
        await time.pass_(LONGER)
        assert [member.id for member in await store.sessions.live(Role.WORKER)] == [other]

    async def test_a_buried_session_never_revives(self, store: Store, time: Time) -> None:
        session, other = await a_worker(store, ttl=SHORT), await a_worker(store, "other")
        await time.pass_(LONGER)
        await store.sessions.bury(10)
        for _ in range(2):
            assert await store.sessions.beat(session, News()) is None
            assert [member.id for member in await store.sessions.live(Role.WORKER)] == [other]
        assert await store.sessions.beat(other, News()) == NOTHING_HELD

    async def test_an_unknown_session_has_ended(self, store: Store) -> None:
        unknown = SessionId(await a_worker(store) + 1000)
        assert await store.sessions.beat(unknown, News()) is None
        await store.sessions.close(unknown)
        assert not await store.sessions.held(unknown, 10)

    async def test_live_sessions_are_not_buried(self, store: Store, make: Factory) -> None:
        await held(store, await a_worker(store), make.run())
        assert not await store.sessions.bury(10)

    async def test_an_ended_session_is_named_until_its_runs_are_settled(self, store: Store, make: Factory) -> None:
        idle, closed = await a_worker(store, "idle"), await a_worker(store, "closed")
        first = await held(store, closed, make.run())
        second = await held(store, closed, make.run())
        await store.sessions.close(closed)
        await store.sessions.close(idle)
        for _ in range(2):
            assert closed in await store.sessions.bury(10)
        await settled(store, first, Lost())
        assert closed in await store.sessions.bury(10)
        await settled(store, second, Succeeded())
        assert not await store.sessions.bury(10)

    async def test_a_session_whose_time_is_up_is_buried_with_what_it_holds(
        self, store: Store, make: Factory, time: Time
    ) -> None:
        # Long enough for a busy server to answer a claim in between.
        session = await a_worker(store, ttl=timedelta(milliseconds=500))
        attempt = await held(store, session, make.run())
        await time.pass_(timedelta(milliseconds=600))
        assert list(await store.sessions.bury(10)) == [session]
        assert list(await store.sessions.held(session, 10)) == [attempt]
        await settled(store, attempt, Lost())
        assert not await store.sessions.held(session, 10)

    async def test_bury_and_held_respect_their_limits(self, store: Store, make: Factory) -> None:
        for name in ("a", "b", "c"):
            session = await a_worker(store, name)
            for _ in range(3):
                await held(store, session, make.run())
            await store.sessions.close(session)
            assert len(await store.sessions.held(session, 2)) == 2
        assert len(await store.sessions.bury(2)) == 2
        assert len(await store.sessions.bury(10)) == 3

    async def test_held_runs_are_complete_enough_to_be_judged(self, store: Store, make: Factory) -> None:
        session = await a_worker(store)
        await settled(store, await held(store, session, make.run()), Failed(error="busy", retry_after=timedelta(0)))
        attempt = await claimed_one(store, session)
        assert list(await store.sessions.held(session, 10)) == [attempt]
        await store.work.steer(attempt.run_id, Cancel())
        (flagged,) = await store.sessions.held(session, 10)
        assert flagged.cancelling

    async def test_a_hung_run_is_overdue_although_its_session_lives(
        self, store: Store, make: Factory, time: Time
    ) -> None:
        session = await a_worker(store)
        hung = await held(store, session, make.run(timeout=SOON_OVERDUE))
        await held(store, session, make.run())
        await time.pass_(LONGER)
        assert list(await store.sessions.overdue(10)) == [hung]
        await settled(store, hung, Lost())
        assert not await store.sessions.overdue(10)

    async def test_runs_that_wait_are_never_overdue(self, store: Store, make: Factory, time: Time) -> None:
        await added(store, make.run(timeout=SOON_OVERDUE))
        await time.pass_(LONGER)
        assert not await store.sessions.overdue(10)

    async def test_overdue_respects_its_limit(self, store: Store, make: Factory, time: Time) -> None:
        await added(store, *make.runs(3, timeout=SOON_OVERDUE))
        await claimed(store, await a_worker(store))
        await time.pass_(LONGER)
        assert len(await store.sessions.overdue(2)) == 2

    async def test_handlers_are_remembered_for_ever(self, store: Store, time: Time) -> None:
        session = await store.sessions.open(a_session("w", ttl=SHORT, handlers={"a": Lane("left")}))
        await store.sessions.open(a_session("w", handlers={"b": Lane("right")}))
        await store.sessions.close(session)
        await time.pass_(LONGER)
        while await store.upkeep.prune(SHORT, 100):
            pass
        assert await store.views.handlers() == {"a": Lane("left"), "b": Lane("right")}

    async def test_a_handler_moves_to_the_lane_that_was_registered_last(self, store: Store) -> None:
        for lane in (Lane("left"), Lane("right")):
            await store.sessions.open(a_session("w", handlers={"a": lane}))
        assert await store.views.handlers() == {"a": Lane("right")}

    async def test_an_audit_leaves_nothing_to_repair(self, store: Store, make: Factory) -> None:
        await held(store, await a_worker(store), make.run())
        await store.sessions.audit()
        assert await store.sessions.audit() == 0
