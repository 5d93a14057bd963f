"""The `Output` port: what the latest attempt printed."""

from mainspring.domain.ids import Fence, RunId
from mainspring.ports.output import Printed
from mainspring.testing.contracts.base import Store, StoreContract
from mainspring.testing.factories import Factory


class OutputContract(StoreContract):
    """All that is asked of `Output`."""

    async def test_a_run_that_printed_nothing_has_no_output(self, store: Store, make: Factory) -> None:
        assert await store.output.read(RunId(make.id())) is None

    async def test_output_is_kept_byte_for_byte(self, store: Store, make: Factory) -> None:
        printed = Printed(
            run_id=RunId(make.id()),
            fence=Fence(3),
            head=bytes(range(256)),
            tail=b"\x00" * 32_768,
            length=10**12,
            progress=0.25,
            message="halfway \u00e4",
        )
        bare = Printed(run_id=RunId(make.id()), fence=Fence(1))
        await store.output.write([printed, bare])
        assert await store.output.read(printed.run_id) == printed
        assert await store.output.read(bare.run_id) == bare

    async def test_output_of_the_same_attempt_is_replaced(self, store: Store, make: Factory) -> None:
        run_id = RunId(make.id())
        for text in (b"a", b"ab", b""):
            printed = Printed(run_id=run_id, fence=Fence(1), head=text, length=len(text))
            await store.output.write([printed])
            assert await store.output.read(run_id) == printed

    async def test_the_highest_fence_wins_whenever_it_wrote(self, store: Store, make: Factory) -> None:
        run_id = RunId(make.id())
        old, new, stale = (Printed(run_id=run_id, fence=Fence(fence), head=b"%d" % fence) for fence in (2, 10, 9))
        await store.output.write([old])
        await store.output.write([new])
        await store.output.write([stale, old])
        assert await store.output.read(run_id) == new

    async def test_one_batch_may_hold_several_attempts(self, store: Store, make: Factory) -> None:
        run_id = RunId(make.id())
        batch = [Printed(run_id=run_id, fence=Fence(fence)) for fence in (5, 7, 6)]
        await store.output.write(batch)
        await store.output.write([])
        assert await store.output.read(run_id) == batch[1]
