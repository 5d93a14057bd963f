import asyncio
from random import Random

import pytest

from mainspring.adapters.cassandra import audit_rows
from mainspring.adapters.cassandra.audit import CassandraAudit
from mainspring.adapters.cassandra.layout import micros
from mainspring.adapters.cassandra.rows import Change
from mainspring.adapters.cassandra.tables import AUDIT
from mainspring.ports.audit import Entry
from tests.unit.adapters.cassandra.faults import Died, Fate
from tests.unit.adapters.cassandra.world import World


@pytest.fixture(autouse=True)
def small_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(audit_rows, "PART", 3)


def entries(count: int, actor: str = "ann") -> list[Entry]:
    return [
        Entry(actor=actor, owner="o" if number % 2 else "p", action="job.pause", subject=f"job:{number}")
        for number in range(count)
    ]


async def told(world: World, owner: str | None = None) -> list[Entry]:
    page = await CassandraAudit(world.process().context).page(owner=owner, job_id=None, before=None, limit=1000)
    return [recorded.entry for recorded in reversed(page)]


async def test_numbers_go_on_from_part_to_part() -> None:
    world = World()
    await CassandraAudit(world.process().context).append(entries(20))
    page = await CassandraAudit(world.process().context).page(owner=None, job_id=None, before=None, limit=100)
    assert [recorded.number for recorded in page] == list(range(20, 0, -1))
    assert await told(world, "o") == entries(20)[1::2]
    third = await CassandraAudit(world.process().context).page(owner="p", job_id=None, before=12, limit=2)
    assert [recorded.number for recorded in third] == [11, 9]


@pytest.mark.parametrize("fate", Fate)
async def test_an_entry_whose_answer_was_lost_is_recorded_once(fate: Fate) -> None:
    world = World()
    alike = entries(1) * 2
    await CassandraAudit(world.process().context).append(alike)
    await CassandraAudit(world.process(fates=[fate]).context).append(alike)
    assert await told(world) == alike * 2


@pytest.mark.parametrize("seed", range(20))
async def test_whoever_appends_at_the_same_time_takes_the_next_numbers(seed: int) -> None:
    world, chance = World(), Random(seed)

    async def append(actor: str) -> None:
        fates = [chance.choice([None, None, *Fate]) for _ in range(20)]
        audit = CassandraAudit(world.process(chance=Random(chance.random()), fates=fates).context)
        for entry in entries(3, actor):
            await audit.append([entry])

    await asyncio.gather(*(append(actor) for actor in ("ann", "ben", "cid")))
    found = await told(world)
    for actor in ("ann", "ben", "cid"):
        assert [entry for entry in found if entry.actor == actor] == entries(3, actor)
    assert sorted(await told(world, "o") + await told(world, "p"), key=repr) == sorted(found, key=repr)


async def test_the_chain_goes_on_wherever_somebody_stopped() -> None:
    for verbs in range(40):
        world = World()
        await CassandraAudit(world.process().context).append(entries(8))
        audit = CassandraAudit(world.process(verbs_left=verbs).context)
        try:
            while await audit.chain(2):
                pass
        except Died:
            pass
        audit = CassandraAudit(world.process().context)
        while await audit.chain(100):
            assert await audit.verify() is None
        page = await audit.page(owner=None, job_id=None, before=None, limit=100)
        assert all(recorded.digest for recorded in page)
        assert await audit.verify() is None


async def test_an_entry_that_was_changed_is_named() -> None:
    world = World()
    context = world.process().context
    audit = CassandraAudit(context)
    await audit.append(entries(8))
    while await audit.chain(100):
        pass
    forged = Change(key=(5,), values={"actor": "eve"}, expected={"actor": "ann"})
    assert await context.rows.cas_batch(AUDIT, (audit_rows.part_of(5),), [forged]) is None
    assert await audit.verify() == 5


def test_as_many_go_together_as_a_batch_can_hold() -> None:
    at = micros(World().clock.now())
    large = [audit_rows.row_from(Entry(actor="a", owner="o", action="x", subject="s", after=b"x" * 30_000), at)] * 3
    assert [number for number, _ in audit_rows.fitting(large, 6)] == [6]
    small = [audit_rows.row_from(entry, at) for entry in entries(9)]
    assert [number for number, _ in audit_rows.fitting(small, 7)] == [7, 8]
