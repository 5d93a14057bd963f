from collections import Counter

from mainspring.domain.rendezvous import owner

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
