"""Whole clusters through whole schedules. A failing seed is repeated by `mainspring simulate --trace SEED`."""

import os
import time

import pytest

from mainspring.testing.simulation.finding import Outcome, outcomes
from mainspring.testing.simulation.storage import Store

MORE = 100


@pytest.mark.long
@pytest.mark.timeout(600)
@pytest.mark.parametrize(
    ("store", "at_least", "seconds"),
    [
        (Store.SQLITE, 500, 15.0),
        (Store.BROKER, 100, 0.0),
        (Store.CASSANDRA, 500, 0.0),
        (Store.CASSANDRA_BROKER, 50, 0.0),
    ],
)
def test_every_property_holds_under_as_many_schedules_as_the_time_allows(
    store: Store, at_least: int, seconds: float
) -> None:
    # At least so many on the slowest machine, and on a fast one as many as the time allows.
    end = time.monotonic() + seconds
    seeds = range(1, at_least + 1)
    failed = _failures(seeds, store)
    while not failed and time.monotonic() < end:
        seeds = range(seeds.stop, seeds.stop + MORE)
        failed = _failures(seeds, store)
    assert not failed, _report(failed, store)


@pytest.mark.chaos
def test_every_property_holds_on_cassandra_under_twenty_thousand_schedules() -> None:
    failed = _failures(range(1, 20_001), Store.CASSANDRA)
    assert not failed, _report(failed, Store.CASSANDRA)


@pytest.mark.chaos
@pytest.mark.parametrize("store", [Store.BROKER, Store.CASSANDRA_BROKER])
def test_every_property_holds_with_a_broker_under_ten_thousand_schedules(store: Store) -> None:
    failed = _failures(range(1, 10_001), store)
    assert not failed, _report(failed, store)


def _failures(seeds: range, store: Store) -> list[Outcome]:
    return [each for each in outcomes(seeds, cores=os.cpu_count() or 1, store=store) if each.violations]


def _report(failed: list[Outcome], store: Store) -> str:
    return "\n".join(
        f"{violation}; repeat it by `mainspring simulate --store {store} --trace {outcome.seed}`"
        for outcome in failed
        for violation in outcome.violations
    )
