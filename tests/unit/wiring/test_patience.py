from datetime import timedelta

import pytest

from mainspring.errors import ConfigurationError, StoreUnavailable
from mainspring.wiring.patience import LONGEST_PAUSE, once_there
from tests.unit.services.fakes import FakeClock, FakeRandom


class Store:
    """Away for some attempts, each of which is told by the clock; then there."""

    def __init__(self, clock: FakeClock, away: int) -> None:
        self._clock = clock
        self._away = away
        self.attempts: list[float] = []

    async def open(self) -> str:
        self.attempts.append(self._clock.monotonic())
        if len(self.attempts) <= self._away:
            raise StoreUnavailable(f"away {len(self.attempts)}")
        return "open"


async def test_a_store_is_asked_again_until_it_is_there_and_ever_more_seldom() -> None:
    clock = FakeClock()
    store = Store(clock, away=50)
    assert await once_there(store.open, clock=clock, random=FakeRandom()) == "open"
    pauses = [after - before for before, after in zip(store.attempts, store.attempts[1:], strict=False)]
    assert pauses == sorted(pauses)
    assert pauses[0] < pauses[-1] <= LONGEST_PAUSE.total_seconds()


async def test_every_failure_is_told_but_the_one_that_is_raised() -> None:
    clock = FakeClock()
    told: list[str] = []
    attempts = once_there(
        Store(clock, away=1000).open,
        clock=clock,
        random=FakeRandom(),
        at_most=timedelta(seconds=1),
        awaiting=lambda error: told.append(str(error)),
    )
    with pytest.raises(StoreUnavailable) as raised:
        await attempts
    assert [*told, str(raised.value)] == [f"away {number}" for number in range(1, len(told) + 2)]


async def test_without_patience_there_is_one_attempt() -> None:
    clock = FakeClock()
    store = Store(clock, away=1)
    with pytest.raises(StoreUnavailable):
        await once_there(store.open, clock=clock, random=FakeRandom(), at_most=timedelta())
    assert len(store.attempts) == 1


async def test_what_waiting_would_not_help_is_raised_at_once() -> None:
    async def refuse() -> None:
        raise ConfigurationError("wrong password")

    with pytest.raises(ConfigurationError, match="wrong password"):
        await once_there(refuse, clock=FakeClock(), random=FakeRandom())
