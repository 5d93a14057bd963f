from collections import Counter

import pytest

from mainspring.domain.rendezvous import owner, shares

MEMBERS = [f"scheduler-{number}" for number in range(5)]
WORK = [f"shard-{number}" for number in range(1000)]


def test_nobody_owns_anything_without_members() -> None:
    assert owner("timetable", []) is None


def test_the_order_of_the_members_does_not_matter() -> None:
    assert [owner(work, MEMBERS) for work in WORK] == [owner(work, reversed(MEMBERS)) for work in WORK]


def test_everybody_gets_a_fair_share() -> None:
    shares = Counter(owner(work, MEMBERS) for work in WORK)
    assert all(150 < shares[member] < 250 for member in MEMBERS)


def test_only_what_a_leaving_member_owned_moves() -> None:
    remaining = MEMBERS[1:]
    moved = [work for work in WORK if owner(work, MEMBERS) != owner(work, remaining)]
    assert moved == [work for work in WORK if owner(work, MEMBERS) == MEMBERS[0]]


def test_nothing_is_shared_without_members() -> None:
    assert shares(WORK, []) == {}


@pytest.mark.parametrize("members", [1, 2, 3, 5, 16, 20])
def test_shares_differ_by_one_at_most(members: int) -> None:
    names = [f"worker-{number}" for number in range(members)]
    owners = shares(WORK[:16], names)
    counts = Counter(owners.values())
    assert owners.keys() == set(WORK[:16])
    assert max(counts.values()) - min(counts[name] for name in names) <= 1


def test_the_order_of_members_and_work_does_not_matter_to_shares() -> None:
    assert shares(WORK, MEMBERS) == shares(WORK[::-1], MEMBERS[::-1])


def test_hardly_more_than_a_leaving_member_had_moves_between_shares() -> None:
    before, after = shares(WORK, MEMBERS), shares(WORK, MEMBERS[1:])
    moved = [work for work in WORK if before[work] != after[work]]
    assert len(moved) < 2 * Counter(before.values())[MEMBERS[0]]
