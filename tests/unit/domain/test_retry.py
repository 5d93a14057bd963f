from datetime import timedelta

import pytest

from mainspring.domain.retry import Backoff, RetryPolicy


def seconds(policy: RetryPolicy, *failures: int) -> list[float]:
    return [policy.delay_after(number).total_seconds() for number in failures]


def test_an_exponential_delay_doubles_up_to_its_maximum() -> None:
    assert seconds(RetryPolicy(), 1, 2, 3, 6, 7, 8) == [1, 2, 4, 32, 60, 60]


def test_an_exponential_delay_stays_at_its_maximum_after_a_million_failures() -> None:
    assert seconds(RetryPolicy(), 1_000_000) == [60]


def test_a_fixed_delay_stays_the_same() -> None:
    assert seconds(RetryPolicy(kind=Backoff.FIXED, initial=timedelta(seconds=5)), 1, 2, 100) == [5, 5, 5]


def test_a_fixed_delay_is_bounded_too() -> None:
    assert seconds(RetryPolicy(kind=Backoff.FIXED, initial=timedelta(hours=1)), 1) == [60]


@pytest.mark.parametrize(("uniform", "delay"), [(0.0, 4.0), (0.5, 5.0), (1.0, 6.0)])
def test_jitter_only_ever_adds(uniform: float, delay: float) -> None:
    assert RetryPolicy(jitter=0.5).delay_after(3, uniform).total_seconds() == delay


def test_the_budget_is_the_number_of_retries() -> None:
    policy = RetryPolicy(max_retries=2)
    assert [policy.exhausted_by(failures) for failures in (1, 2, 3)] == [False, False, True]


def test_no_retries_means_that_the_first_failure_is_the_last() -> None:
    assert RetryPolicy(max_retries=0).exhausted_by(1)
