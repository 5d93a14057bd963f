from structlog.testing import capture_logs

from mainspring.services.pruner import BATCH, BREATH, INTERVAL, POLL, RETENTION, Pruner
from tests.unit.services.fakes import FakeClock, FakeRandom, FakeUpkeep, everything, nothing, seconds


async def test_old_rows_go_in_batches_with_a_breath_in_between_and_then_there_is_rest() -> None:
    upkeep = FakeUpkeep()
    upkeep.old = BATCH + 1
    pruner = Pruner(upkeep, FakeClock(), FakeRandom(), owns=everything)
    with capture_logs() as logs:
        assert [await pruner.step() for _ in range(3)] == [BREATH, BREATH, INTERVAL]
    assert upkeep.old == 0
    assert upkeep.pruned == [RETENTION] * 3
    assert [entry["rows"] for entry in logs] == [BATCH, 1]


async def test_how_long_history_is_kept_is_a_setting() -> None:
    upkeep = FakeUpkeep()
    await Pruner(upkeep, FakeClock(), FakeRandom(), owns=everything, retention=seconds(5)).step()
    assert upkeep.pruned == [seconds(5)]


async def test_only_the_owner_prunes() -> None:
    upkeep = FakeUpkeep()
    assert await Pruner(upkeep, FakeClock(), FakeRandom(), owns=nothing).step() == POLL
    assert upkeep.pruned == []


async def test_the_loop_rests_between_its_steps() -> None:
    clock = FakeClock()
    await Pruner(FakeUpkeep(), clock, FakeRandom(), owns=everything).run(clock.stop_at_nap(2))
    assert clock.slept == [INTERVAL, INTERVAL]
