"""Whole clusters through whole schedules. A failing seed is repeated by `mainspring simulate --trace SEED`."""

import os
import time

import pytest

from mainspring.testing.simulation.finding import outcomes

AT_LEAST = 500
PORTION = 100
SECONDS = 20.0


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_every_property_holds_under_as_many_schedules_as_the_time_allows() -> None:
    # At least five hundred on the slowest machine, and on a fast one as many as the time allows.
    end, first, failed = time.monotonic() + SECONDS, 1, []
    while first <= AT_LEAST or time.monotonic() < end:
        seeds = range(first, first + PORTION)
        failed += [each for each in outcomes(seeds, cores=os.cpu_count() or 1) if each.violations]
        if failed:
            break
        first += PORTION
    assert not failed, "\n".join(
        f"{violation}; repeat it by `mainspring simulate --trace {outcome.seed}`"
        for outcome in failed
        for violation in outcome.violations
    )
