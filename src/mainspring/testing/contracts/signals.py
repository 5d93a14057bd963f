"""The `Signals` port: hints that wake, between instances on one hub."""

import asyncio
from datetime import timedelta

import pytest

from mainspring.domain.ids import DEFAULT_LANE, Lane
from mainspring.ports.signals import TIMETABLE, Signals, lane_topic

WORK = lane_topic(DEFAULT_LANE)
NOT_AT_ALL = timedelta(0)
BRIEFLY = timedelta(milliseconds=20)
LONG_ENOUGH = timedelta(seconds=30)
"""Only a lost signal lasts that long."""


class SignalsContract:
    """All that is asked of `Signals`; an adapter gives `signals` and `second_signals`, two instances on one hub."""

    @pytest.fixture
    async def signals(self) -> Signals:
        """One instance."""
        raise NotImplementedError("the adapter's fixtures come first among the bases")

    @pytest.fixture
    async def second_signals(self) -> Signals:
        """Another instance on the same hub."""
        raise NotImplementedError("the adapter's fixtures come first among the bases")

    async def test_a_wait_without_a_signal_ends(self, signals: Signals) -> None:
        assert not await signals.wait([WORK, TIMETABLE], BRIEFLY)
        assert not await signals.wait([WORK], NOT_AT_ALL)

    async def test_a_signal_before_the_wait_is_remembered(self, signals: Signals) -> None:
        await signals.notify([WORK])
        assert await signals.wait([WORK], LONG_ENOUGH)

    async def test_a_remembered_signal_wakes_once(self, signals: Signals) -> None:
        await signals.notify([WORK])
        await signals.notify([WORK])
        assert await signals.wait([WORK], LONG_ENOUGH)
        assert not await signals.wait([WORK], BRIEFLY)

    async def test_a_signal_during_the_wait_wakes(self, signals: Signals) -> None:
        waiting = asyncio.create_task(signals.wait([TIMETABLE, WORK], LONG_ENOUGH))
        await asyncio.sleep(0)
        await signals.notify([WORK])
        assert await waiting

    async def test_only_the_topics_waited_for_wake(self, signals: Signals) -> None:
        await signals.notify([lane_topic(Lane("other")), TIMETABLE])
        assert not await signals.wait([WORK], BRIEFLY)

    async def test_a_topic_that_was_not_waited_for_is_still_remembered(self, signals: Signals) -> None:
        await signals.notify([TIMETABLE, WORK])
        assert await signals.wait([WORK], LONG_ENOUGH)
        assert await signals.wait([TIMETABLE], LONG_ENOUGH)

    async def test_a_signal_reaches_the_other_instance(self, signals: Signals, second_signals: Signals) -> None:
        waiting = asyncio.create_task(second_signals.wait([WORK], LONG_ENOUGH))
        await asyncio.sleep(0)
        await signals.notify([WORK])
        assert await waiting

    async def test_a_signal_between_two_waits_of_the_other_instance_is_remembered(
        self, signals: Signals, second_signals: Signals
    ) -> None:
        assert not await second_signals.wait([WORK], BRIEFLY)
        await signals.notify([WORK])
        assert await second_signals.wait([WORK], LONG_ENOUGH)

    async def test_one_instance_does_not_use_up_the_signal_of_the_other(
        self, signals: Signals, second_signals: Signals
    ) -> None:
        assert not await second_signals.wait([WORK], BRIEFLY)
        await signals.notify([WORK])
        assert await signals.wait([WORK], LONG_ENOUGH)
        assert await second_signals.wait([WORK], LONG_ENOUGH)

    async def test_a_wait_that_was_given_up_leaves_the_next_one_its_signal(self, signals: Signals) -> None:
        waiting = asyncio.create_task(signals.wait([WORK], LONG_ENOUGH))
        await asyncio.sleep(0)
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
        await signals.notify([WORK])
        assert await signals.wait([WORK], LONG_ENOUGH)

    async def test_topics_that_nobody_waits_for_cost_nothing(self, signals: Signals) -> None:
        await signals.notify([lane_topic(Lane(f"lane-{number}")) for number in range(200)])
        await signals.notify([])
        assert not await signals.wait([WORK], BRIEFLY)
