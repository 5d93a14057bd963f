from hypothesis import given
from hypothesis import strategies as st

from mainspring.api.limits import Rate


def test_a_second_s_worth_may_come_at_once_and_then_one_at_a_time() -> None:
    rate = Rate(4)
    assert [rate.take("ann", 0.0) for _ in range(5)] == [0, 0, 0, 0, 0.25]
    assert rate.take("ann", 0.25) == 0
    assert rate.take("ann", 0.25) == 0.25


def test_whoever_waits_as_long_as_told_may_go_on() -> None:
    rate = Rate(0.5)
    assert rate.take("ann", 0.0) == 0
    wait = rate.take("ann", 0.0)
    assert wait == 2
    assert rate.take("ann", wait) == 0


def test_owners_do_not_share_a_rate() -> None:
    rate = Rate(1)
    assert [rate.take("ann", 0.0), rate.take("bob", 0.0)] == [0, 0]
    assert rate.take("ann", 0.0) > 0


def test_only_so_many_owners_are_remembered() -> None:
    rate = Rate(1, most_owners=10)
    for number in range(1000):
        rate.take(f"owner {number}", 0.0)
    assert len(rate._buckets) == 10
    assert rate.take("owner 999", 0.0) > 0


@given(st.lists(st.floats(min_value=0, max_value=2), max_size=100))
def test_no_second_lets_more_pass_than_two_seconds_worth(pauses: list[float]) -> None:
    rate, now, passed = Rate(5), 0.0, []
    for pause in pauses:
        now += pause
        if rate.take("ann", now) == 0:
            passed.append(now)
    assert all(sum(start <= at < start + 1 for at in passed) <= 10 for start in passed)
