"""The `Audit` port: append-only and chained. How tampering is found differs by store: adapters test that themselves."""

import asyncio

from mainspring.ports.audit import Audit, Entry, Recorded
from mainspring.testing.contracts.base import Store, StoreContract
from mainspring.testing.factories import Factory


def entries(count: int, owner: str = "o") -> list[Entry]:
    """So many different entries."""
    return [Entry(actor="ann", owner=owner, action="job.create", subject=f"job:{number}") for number in range(count)]


async def newest(audit: Audit, limit: int = 100, before: int | None = None, owner: str | None = None) -> list[Recorded]:
    """A page over all jobs."""
    return list(await audit.page(owner=owner, job_id=None, before=before, limit=limit))


class AuditContract(StoreContract):
    """All that is asked of `Audit`."""

    async def test_an_entry_is_kept_whole(self, store: Store, make: Factory) -> None:
        whole = Entry(
            actor="key:1",
            owner="o",
            action="job.edit",
            subject="job:\u00e4",
            job_id=make.id(),
            before=b'{"a":\x00}',
            after=b"",
        )
        start = await store.views.now()
        await store.audit.append([whole])
        (recorded,) = await newest(store.audit)
        assert (recorded.entry, recorded.digest) == (whole, None)
        assert start.replace(microsecond=0) <= recorded.at <= await store.views.now()

    async def test_entries_are_numbered_in_order_and_shown_newest_first(self, store: Store) -> None:
        for entry in entries(3):
            await store.audit.append([entry])
        await store.audit.append(entries(3, "p"))
        await store.audit.append([])
        shown = await newest(store.audit)
        assert [recorded.entry for recorded in reversed(shown)] == entries(3) + entries(3, "p")
        numbers = [recorded.number for recorded in shown]
        assert numbers == sorted(set(numbers), reverse=True)

    async def test_pages_are_cut_by_number(self, store: Store) -> None:
        await store.audit.append(entries(5))
        whole = await newest(store.audit)
        first = await newest(store.audit, 2)
        await store.audit.append(entries(1))
        assert first + await newest(store.audit, 100, first[-1].number) == whole
        assert not await newest(store.audit, 100, whole[-1].number)

    async def test_pages_can_be_of_one_owner_or_one_job(self, store: Store, make: Factory) -> None:
        job = make.id()
        about = Entry(actor="ann", owner="p", action="job.pause", subject="job", job_id=job)
        await store.audit.append([*entries(2), about])
        assert [recorded.entry for recorded in await newest(store.audit, owner="p")] == [about]
        found = await store.audit.page(owner=None, job_id=job, before=None, limit=10)
        assert [recorded.entry for recorded in found] == [about]
        assert not await store.audit.page(owner="o", job_id=job, before=None, limit=10)

    async def test_the_chain_grows_from_the_oldest_entry(self, store: Store) -> None:
        await store.audit.append(entries(5))
        assert await store.audit.chain(2) == 2
        digests = [recorded.digest for recorded in reversed(await newest(store.audit))]
        assert [digest is not None for digest in digests] == [True, True, False, False, False]
        assert await store.audit.verify() is None
        assert await store.audit.chain(100) == 3
        assert await store.audit.chain(100) == 0
        assert await store.audit.verify() is None

    async def test_equal_entries_have_different_digests(self, store: Store) -> None:
        await store.audit.append(entries(1) * 3)
        await store.audit.chain(10)
        assert len({recorded.digest for recorded in await newest(store.audit)}) == 3

    async def test_what_was_chained_is_not_chained_again(self, store: Store) -> None:
        await store.audit.append(entries(2))
        await store.audit.chain(10)
        before = await newest(store.audit)
        await store.audit.append(entries(1))
        await store.audit.chain(10)
        assert (await newest(store.audit))[1:] == before

    async def test_the_chain_holds_when_several_chain_at_once(self, store: Store, second_store: Store) -> None:
        await store.audit.append(entries(20))
        await asyncio.gather(*(handle.audit.chain(7) for handle in [store, second_store] * 3))
        while await store.audit.chain(7):
            pass
        assert await store.audit.verify() is None
        assert all(recorded.digest for recorded in await newest(store.audit))

    async def test_an_empty_log_holds(self, store: Store) -> None:
        assert await store.audit.verify() is None
        assert await store.audit.chain(10) == 0
