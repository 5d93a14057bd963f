import asyncio

import pytest
from structlog.testing import capture_logs

from mainspring.domain.ids import SessionId
from mainspring.domain.rendezvous import owner
from mainspring.errors import SessionLost, StoreUnavailable
from mainspring.ports.sessions import NewSession, Role
from mainspring.ports.signals import TIMETABLE
from mainspring.services.membership import Membership
from mainspring.services.ownership import firing
from tests.unit.services.fakes import FakeClock, FakeRandom, FakeSessions, FakeSignals, member, seconds

NEW = NewSession(role=Role.SCHEDULER, name="a", ttl=seconds(15))


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
def sessions() -> FakeSessions:
    return FakeSessions()


@pytest.fixture
def signals(clock: FakeClock) -> FakeSignals:
    return FakeSignals(clock)


@pytest.fixture
def membership(sessions: FakeSessions, signals: FakeSignals, clock: FakeClock) -> Membership:
    return Membership(sessions, signals, clock, FakeRandom(), session=NEW)


async def test_a_session_is_opened_once_and_kept_by_a_beat_every_third_of_its_time(
    membership: Membership, sessions: FakeSessions, clock: FakeClock
) -> None:
    for _ in range(22):
        await clock.sleep(await membership.step())
    assert sessions.opened == [NEW]
    assert sessions.beats == [1, 1]
    assert clock.elapsed == seconds(11)


async def test_a_short_lived_session_is_kept_too(
    sessions: FakeSessions, signals: FakeSignals, clock: FakeClock
) -> None:
    new = NewSession(role=Role.SCHEDULER, name="a", ttl=seconds(0.3))
    assert await Membership(sessions, signals, clock, FakeRandom(), session=new).step() == seconds(0.1)


async def test_a_lost_session_is_followed_by_another(
    membership: Membership, sessions: FakeSessions, clock: FakeClock
) -> None:
    await membership.step()
    sessions.lost = [SessionId(1)]
    await clock.sleep(seconds(5))
    with capture_logs() as logs:
        await membership.step()
    assert len(sessions.opened) == 2
    assert [entry["event"] for entry in logs] == ["session.lost", "session.opened"]


async def test_a_store_that_refuses_an_ended_session_is_understood_the_same(
    membership: Membership, sessions: FakeSessions, clock: FakeClock
) -> None:
    await membership.step()
    sessions.error = SessionLost()
    await clock.sleep(seconds(5))
    await membership.step()
    assert len(sessions.opened) == 2


async def test_who_leads_is_logged_when_that_changes(membership: Membership, sessions: FakeSessions) -> None:
    rival = next(name for name in "bcdefgh" if owner(firing(0), ["a", name]) == name)
    with capture_logs() as logs:
        for members in ([member("a")], [member("a")], [member("a"), member(rival)], [member("a")]):
            sessions.members = members
            await membership.step()
    told = [(entry["event"], entry["name"]) for entry in logs if "leader" in entry["event"]]
    assert told == [("became leader", "a"), ("no longer leader", "a"), ("became leader", "a")]


async def test_planners_are_woken_when_shards_change_hands_and_only_then(
    sessions: FakeSessions, signals: FakeSignals, clock: FakeClock
) -> None:
    membership = Membership(sessions, signals, clock, FakeRandom(), session=NEW, shards=16)
    share = len([shard for shard in range(16) if owner(firing(shard), ["a", "b"]) == "a"])
    assert 0 < share < 16
    with capture_logs() as logs:
        for members in ([member("a")], [member("a"), member("b")], [member("a"), member("b")], [member("a")]):
            sessions.members = members
            await membership.step()
    told = [(entry["event"], entry["shards"], entry["of"]) for entry in logs if "shards" in entry]
    assert told == [("became leader", 16, 16), ("timetable.shared", share, 16), ("timetable.shared", 16, 16)]
    assert signals.notified == 3 * [(TIMETABLE,)]


async def test_work_falls_to_one_of_the_live_members(membership: Membership, sessions: FakeSessions) -> None:
    assert not membership.owns("timetable")
    sessions.members = [member("a"), member("b"), member("w", Role.WORKER)]
    await membership.step()
    for work in ("one", "two", "three", "four", "five"):
        assert membership.owns(work) == (owner(work, ["a", "b"]) == "a")
    sessions.members = [member("a")]
    await membership.step()
    assert membership.owns("timetable")


async def test_the_session_is_closed_at_the_end_and_owns_nothing_more(
    membership: Membership, sessions: FakeSessions, clock: FakeClock
) -> None:
    sessions.members = [member("a")]
    await membership.run(clock.stop_at_nap(2))
    assert sessions.looks == [Role.SCHEDULER, Role.SCHEDULER]
    assert sessions.closed == [1]
    assert not membership.owns("timetable")


async def test_a_session_that_was_never_opened_is_not_closed(membership: Membership, sessions: FakeSessions) -> None:
    stop = asyncio.Event()
    stop.set()
    await membership.run(stop)
    assert sessions.closed == []


async def test_a_store_that_is_away_does_not_keep_a_scheduler_from_ending(
    membership: Membership, sessions: FakeSessions, clock: FakeClock
) -> None:
    sessions.error = StoreUnavailable()
    with capture_logs() as logs:
        await membership.run(clock.stop_at_nap(1))
    assert "session.not_closed" in [entry["event"] for entry in logs]
