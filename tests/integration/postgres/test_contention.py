"""Locks, audit entries and tallies under many hands at once."""

import asyncio
from collections.abc import AsyncIterator
from datetime import timedelta

import pytest

from mainspring.adapters.postgres.audit import PostgresAudit
from mainspring.adapters.postgres.engine import Connection, Engine, connect
from mainspring.adapters.postgres.locks import PostgresLocks
from mainspring.adapters.postgres.statements import load
from mainspring.adapters.postgres.upkeep import FOLLOWED, PostgresUpkeep
from mainspring.domain.ids import Fence
from mainspring.ports.audit import Entry
from mainspring.ports.locks import Lock
from tests.integration.postgres.stores import engines

LONG = timedelta(minutes=10)
PATIENCE = 60


@pytest.fixture
async def two(postgres_url: str) -> AsyncIterator[list[Engine]]:
    async with engines(postgres_url, 2) as opened:
        yield opened


@pytest.fixture
def engine(two: list[Engine]) -> Engine:
    return two[0]


def an_entry(subject: str) -> Entry:
    return Entry(actor="ann", owner="o", action="job.edit", subject=subject)


async def appended_by_hand(connection: Connection, subject: str) -> None:
    """The statement of an append, in the caller's transaction."""
    await connection.execute(load("audit")["append"], ["a"], ["o"], ["x"], [subject], [None], [None], [None])


async def test_a_lock_in_many_hands_has_one_holder_at_a_time_and_fences_that_grow(two: list[Engine]) -> None:
    granted: list[Fence] = []
    holding = 0

    async def take_and_give(locks: PostgresLocks, holder: str) -> None:
        nonlocal holding
        while not isinstance(lock := await locks.acquire("door", holder, LONG), Lock):
            assert lock.holder != holder
        holding += 1
        assert holding == 1
        granted.append(lock.fence)
        holding -= 1
        assert await locks.release(lock)

    async with asyncio.timeout(PATIENCE):
        await asyncio.gather(*(take_and_give(PostgresLocks(two[n % 2]), f"holder-{n}") for n in range(16)))
    assert len(granted) == 16
    assert granted == sorted(set(granted))


async def test_a_lock_that_expires_under_many_hands_is_taken_once(two: list[Engine]) -> None:
    for round_ in range(5):
        first = await PostgresLocks(two[0]).acquire("door", f"gone-{round_}", timedelta(0))
        assert isinstance(first, Lock)
        answers = await asyncio.gather(
            *(PostgresLocks(two[n % 2]).acquire("door", f"holder-{round_}-{n}", LONG) for n in range(12))
        )
        (winner,) = [answer for answer in answers if isinstance(answer, Lock)]
        assert winner.fence == first.fence + 1
        assert {answer.holder for answer in answers} == {winner.holder}
        assert await PostgresLocks(two[1]).release(winner)


async def test_asking_for_a_lock_in_other_hands_writes_nothing(engine: Engine) -> None:
    locks = PostgresLocks(engine)
    await locks.acquire("door", "ann", LONG)
    before = await engine.value("SELECT ctid::text || '/' || xmax::text FROM lock")
    for _ in range(3):
        await locks.acquire("door", "ben", LONG)
    assert await engine.value("SELECT ctid::text || '/' || xmax::text FROM lock") == before


async def test_an_entry_that_is_committed_late_is_not_overtaken_by_the_chain(engine: Engine) -> None:
    audit = PostgresAudit(engine)
    late = await connect(engine.address)
    transaction = late.transaction()
    await transaction.start()
    await appended_by_hand(late, "first")
    await audit.append([an_entry("second")])  # writers don't wait for one another
    chaining = asyncio.create_task(audit.chain(10))
    while not await engine.value("SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted"):
        assert not chaining.done()
    await transaction.commit()
    await late.close()
    await chaining
    while await audit.chain(10):
        pass
    recorded = await audit.page(owner=None, job_id=None, before=None, limit=10)
    assert [each.entry.subject for each in recorded] == ["second", "first"]
    assert all(each.digest for each in recorded)
    assert await audit.verify() is None


async def test_an_entry_that_was_rolled_back_leaves_a_chain_that_holds(engine: Engine) -> None:
    audit = PostgresAudit(engine)
    await audit.append([an_entry("first")])
    failing = await connect(engine.address)
    transaction = failing.transaction()
    await transaction.start()
    await appended_by_hand(failing, "never")
    await transaction.rollback()
    await failing.close()
    await audit.append([an_entry("second")])
    assert await audit.chain(10) == 2
    assert await audit.verify() is None


@pytest.mark.parametrize(
    "tampering",
    [
        "UPDATE audit SET actor = 'ben' WHERE number = 2",
        "UPDATE audit SET at = at + interval '1 second' WHERE number = 2",
        "UPDATE audit SET before = 'x' WHERE number = 2",
        "UPDATE audit SET digest = 'x' WHERE number = 2",
        "DELETE FROM audit WHERE number = 1",
    ],
)
async def test_tampering_is_found_where_it_was_done(engine: Engine, tampering: str) -> None:
    audit = PostgresAudit(engine)
    await audit.append([an_entry(str(number)) for number in range(4)])
    await audit.chain(10)
    assert await audit.verify() is None
    await engine.execute(tampering)
    assert await audit.verify() == 2


async def test_tallies_stay_for_followers_before_they_are_folded(engine: Engine) -> None:
    await tallied(engine, 3)
    assert await PostgresUpkeep(engine).fold(10) == 0
    await engine.execute("UPDATE tally SET at = at - $1::interval WHERE number = 1", FOLLOWED)
    assert await PostgresUpkeep(engine).fold(10) == 1
    assert await engine.value("SELECT count(*) FROM tally") == 2


async def test_tallies_are_counted_once_whoever_folds_them(two: list[Engine]) -> None:
    await tallied(two[0], 300)
    expected = await totals(two[0])
    newest = await two[0].value("SELECT xact::text FROM tally ORDER BY xact DESC LIMIT 1")

    async def fold_all(engine: Engine) -> int:
        folded = 0
        while step := await PostgresUpkeep(engine, followed=timedelta(0)).fold(20):
            folded += step
            assert await totals(engine) == expected
        return folded

    counts = await asyncio.gather(*(fold_all(engine) for engine in two * 3))
    assert sum(counts) + await fold_all(two[0]) == 300
    assert await totals(two[0]) == expected
    assert await two[0].value("SELECT count(*) FROM tally") == 0
    assert await two[0].value("SELECT xact::text FROM folded") == newest


async def tallied(engine: Engine, rows: int) -> None:
    """So many tallies in a few groups, from several transactions."""
    for part in range(3):
        await engine.execute(
            "INSERT INTO tally (owner, lane, kind, what, amount) "
            "SELECT 'o', 'lane-' || n % 4, n % 2, 'added', n FROM generate_series(1, $1) AS n",
            rows // 3 + (rows % 3 if part == 0 else 0),
        )


async def totals(engine: Engine) -> list[tuple[object, ...]]:
    """What the figures are made of, folded or not."""
    rows = await engine.fetch(
        "SELECT owner, lane, kind, what, sum(amount) FROM (SELECT owner, lane, kind, what, amount FROM tally "
        "UNION ALL SELECT owner, lane, kind, what, amount FROM total) AS every GROUP BY 1, 2, 3, 4 ORDER BY 1, 2, 3, 4"
    )
    return [tuple(row) for row in rows]
