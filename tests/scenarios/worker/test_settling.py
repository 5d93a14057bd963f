import asyncio
from datetime import timedelta
from typing import Any

from structlog.testing import capture_logs

from mainspring.domain.retry import LONGEST_DELAY
from mainspring.domain.run import State
from mainspring.errors import StoreFull, StoreUnavailable
from mainspring.ports.journal import Finished
from mainspring.worker.context import Context
from mainspring.worker.flow import Abandon, Snooze
from tests.unit.worker.harness import Bench
from tests.unit.worker.leaps import leaping


@leaping
async def test_what_ends_while_a_group_is_on_its_way_leaves_as_the_next_group() -> None:
    bench = Bench()
    bench.count_calls("work")
    bench.store.delays["settle"] = timedelta(seconds=1)
    bench.store.submit()
    async with bench.working():
        await bench.clock.sleep(timedelta(milliseconds=100))
        for _ in range(5):
            bench.store.submit()
        await bench.store.until_ended(6)
        assert bench.clock.monotonic() < 2.2
    assert bench.store.groups == [1, 5]


@leaping
async def test_no_verdict_is_dropped_however_long_the_store_is_away() -> None:
    bench = Bench()
    bench.count_calls("work")
    bench.store.faults["settle"] = [StoreUnavailable("down")] * 100
    runs = [bench.store.submit() for _ in range(3)]
    async with bench.working():
        await bench.store.until_ended(3)
    assert all(bench.store.ended[run].state is State.SUCCEEDED for run in runs)


@leaping
async def test_a_settle_whose_answer_was_lost_is_repeated_harmlessly() -> None:
    bench = Bench()
    calls = bench.count_calls("work")
    bench.store.lost_answers["settle"] = 1
    bench.store.submit()
    async with bench.working():
        await bench.store.until(lambda: len(bench.store.groups) == 2)
    assert (len(bench.store.verdicts), calls) == (1, [1])


@leaping
async def test_a_defect_in_the_store_drops_no_verdict_either() -> None:
    bench = Bench()
    bench.count_calls("work")
    bench.store.faults["settle"] = [ValueError("a defect")]
    bench.store.submit()
    async with bench.working():
        await bench.store.until_ended(1)


@leaping
async def test_a_verdict_that_the_store_refuses_does_not_hold_up_the_others() -> None:
    bench = Bench()
    bench.count_calls("work")
    runs = [bench.store.submit() for _ in range(9)]
    bench.store.refused = {runs[4]}
    async with bench.working():
        await bench.store.until_ended(8)
        later = bench.store.submit()
        await bench.store.until_ended(9)
        assert bench.clock.monotonic() < 1
    assert set(bench.store.ended) == {*runs, later} - {runs[4]}
    assert [note.verdict.run_id for note in bench.journal.notes if isinstance(note, Finished)] == [runs[4]]


@leaping
async def test_a_refused_verdict_is_told_once_per_reason_and_offered_ever_more_rarely() -> None:
    bench = Bench()
    bench.count_calls("work")
    poison = bench.store.submit()
    bench.store.refused = {poison}
    with capture_logs() as lines:
        async with bench.working():
            await asyncio.sleep(3600)
            bench.store.refused = set()
            await bench.store.until_ended(1)
    assert [what for what, run, _ in bench.incidents.noted if run == poison] == ["refused"]
    assert [line["event"] for line in lines if line["event"].startswith("settle.ref")] == ["settle.refusal_over"]


@leaping
async def test_a_full_store_is_waited_for_as_one_that_is_away() -> None:
    bench = Bench()
    bench.count_calls("work")
    bench.store.faults["settle"] = [StoreFull("no space left")] * 20
    bench.store.submit()
    async with bench.working():
        await bench.store.until_ended(1)
    assert bench.incidents.noted == []


@leaping
async def test_every_failed_attempt_is_told_with_what_follows_and_nothing_else_is() -> None:
    bench = Bench()
    bench.count_calls("work")

    @bench.registry.handler("fail")
    async def fail() -> None:
        raise ValueError("once more")

    @bench.registry.handler("abandon")
    async def abandon() -> None:
        raise Abandon("never again")

    failing, abandoned, _ = (bench.store.submit(name) for name in ("fail", "abandon", "work"))
    async with bench.working():
        await bench.store.until(lambda: len(bench.store.verdicts) == 3)
    assert bench.incidents.noted == [("failed", failing, State.WAITING), ("failed", abandoned, State.DEAD)]


@leaping
async def test_a_wait_that_was_cut_is_told() -> None:
    bench = Bench()

    @bench.registry.handler("snooze")
    async def snooze() -> None:
        raise Snooze(timedelta.max)

    snoozed = bench.store.submit("snooze")
    async with bench.working():
        await bench.store.until(lambda: len(bench.store.verdicts) == 1)
    assert bench.incidents.noted == [("clamped", snoozed, LONGEST_DELAY)]


@leaping
async def test_the_output_is_written_before_the_run_is_settled() -> None:
    bench = Bench()
    order: list[str] = []

    @bench.registry.handler("work")
    async def work(_: Any, context: Context) -> None:
        context.print("hello\n")
        context.progress(0.5, "half")

    bench.store.submit()
    async with bench.working():
        await bench.store.until(lambda: bool(bench.store.outputs))
        order += ["output"] + ["ended"] * len(bench.store.ended)
        await bench.store.until_ended(1)
    assert order == ["output"]
    assert [(each.head, each.length, each.progress, each.message) for each in bench.store.outputs] == [
        (b"hello\n", 6, 0.5, "half")
    ]


@leaping
async def test_a_talkative_run_writes_once_a_second() -> None:
    bench = Bench()

    @bench.registry.handler("work")
    async def work(_: Any, context: Context) -> None:
        for number in range(100):
            context.print(f"{number}\n")
            await bench.clock.sleep(timedelta(milliseconds=100))

    bench.store.submit()
    async with bench.working():
        await bench.store.until_ended(1)
    assert 10 <= len(bench.store.outputs) <= 12
    assert bench.store.outputs[-1].head.endswith(b"99\n")


@leaping
async def test_output_that_cannot_be_written_does_not_hold_up_the_verdict() -> None:
    bench = Bench()

    @bench.registry.handler("work")
    async def work(_: Any, context: Context) -> None:
        context.print("hello\n")

    bench.store.faults["write"] = [StoreUnavailable("down")] * 5
    bench.store.submit()
    async with bench.working():
        await bench.store.until_ended(1)
    assert bench.store.outputs == []


@leaping
async def test_runs_that_print_nothing_write_nothing() -> None:
    bench = Bench()
    bench.count_calls("work")
    bench.store.faults["write"] = [AssertionError("nothing to write")]
    bench.store.submit()
    async with bench.working():
        await bench.store.until_ended(1)
        await asyncio.sleep(5)
    assert bench.store.faults["write"]
