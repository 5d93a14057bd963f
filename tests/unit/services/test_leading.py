"""A scheduler that is told who leads by something beside the store."""

from collections.abc import Mapping
from datetime import timedelta

import pytest

from mainspring.domain.rendezvous import owner
from mainspring.ports.sessions import NewSession, Role
from mainspring.services.membership import Membership
from tests.unit.services.fakes import FakeClock, FakeRandom, FakeSessions, FakeSignals, member, seconds

WORKS = ("timetable/0", "rescue", "pruning", "ticker/default", "ticker/other")


class FakeLeadership:
    """Says what a test put in, and remembers what it was asked."""

    def __init__(self) -> None:
        self.leader: str | None = None
        self.stood: list[tuple[str, timedelta]] = []
        self.resigned: list[str] = []

    async def stand(self, name: str, ttl: timedelta) -> str | None:
        self.stood.append((name, ttl))
        return self.leader

    async def resign(self, name: str) -> None:
        self.resigned.append(name)


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
def leadership() -> FakeLeadership:
    return FakeLeadership()


@pytest.fixture
def sessions() -> FakeSessions:
    sessions = FakeSessions()
    sessions.members = [member("a"), member("b")]
    return sessions


@pytest.fixture
def membership(sessions: FakeSessions, clock: FakeClock, leadership: FakeLeadership) -> Membership:
    new = NewSession(role=Role.SCHEDULER, name="a", ttl=seconds(15))
    return Membership(sessions, FakeSignals(clock), clock, FakeRandom(), session=new, leadership=leadership)


def owned(membership: Membership) -> Mapping[str, bool]:
    return {work: membership.owns(work) for work in WORKS}


def shared(*names: str) -> Mapping[str, bool]:
    return {work: owner(work, names) == "a" for work in WORKS}


async def test_a_scheduler_stands_for_as_long_as_its_session_lives(
    membership: Membership, leadership: FakeLeadership
) -> None:
    await membership.step()
    await membership.step()
    assert leadership.stood == [("a", seconds(15))] * 2


async def test_the_leader_has_all_the_work_and_its_followers_none(
    membership: Membership, leadership: FakeLeadership
) -> None:
    leadership.leader = "a"
    await membership.step()
    assert owned(membership) == dict.fromkeys(WORKS, True)
    leadership.leader = "b"
    await membership.step()
    assert owned(membership) == dict.fromkeys(WORKS, False)


async def test_while_nobody_knows_who_leads_the_live_share_the_work(
    membership: Membership, leadership: FakeLeadership
) -> None:
    leadership.leader = "b"
    await membership.step()
    leadership.leader = None
    await membership.step()
    assert owned(membership) == shared("a", "b")


async def test_a_leader_that_is_not_alive_in_the_store_is_not_followed(
    membership: Membership, leadership: FakeLeadership, sessions: FakeSessions
) -> None:
    leadership.leader = "of another cluster"
    await membership.step()
    assert owned(membership) == shared("a", "b")
    leadership.leader = "b"
    sessions.members = [member("a")]
    await membership.step()
    assert owned(membership) == dict.fromkeys(WORKS, True)


async def test_whoever_ends_resigns_and_owns_nothing_more(
    membership: Membership, leadership: FakeLeadership, clock: FakeClock
) -> None:
    leadership.leader = "a"
    await membership.run(clock.stop_at_nap(2))
    assert leadership.resigned == ["a"]
    assert owned(membership) == dict.fromkeys(WORKS, False)
