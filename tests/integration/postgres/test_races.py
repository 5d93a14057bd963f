"""What happens when several connections want the same run at once."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Coroutine, Sequence
from datetime import timedelta
from itertools import chain
from random import Random
from typing import Any, TypeVar

import asyncpg
import pytest

from mainspring.adapters.postgres.address import address
from mainspring.adapters.postgres.engine import connect
from mainspring.adapters.postgres.store import PostgresStore
from mainspring.adapters.system.chance import SystemRandom
from mainspring.adapters.system.clock import SystemClock
from mainspring.domain.ids import DEFAULT_LANE, Lane, RunId
from mainspring.domain.outcome import Failed, HandedBack, Lost, Outcome, Settled, Succeeded
from mainspring.domain.run import State
from mainspring.errors import StoreError
from mainspring.ports.work import Added, Addition, Cancel, Edit, Effect, Hold, Note, Order, Release, Steered
from mainspring.testing.contracts.base import a_worker, added, claimed, claimed_one, held, settled, state_of, verdict
from mainspring.testing.factories import Factory, a_key, a_task

T = TypeVar("T")
JOBS = 2_000
LANES = [DEFAULT_LANE, Lane("other")]
SETTLEMENTS: list[Outcome] = [
    Succeeded(),
    Succeeded(result=b"1"),
    Failed(error="busy", retry_after=timedelta(0)),
    HandedBack(),
]
STORMY: list[Outcome] = [*SETTLEMENTS, Lost(), Failed(error="broken", permanent=True)]


@pytest.fixture
async def stores(postgres_url: str) -> AsyncIterator[list[PostgresStore]]:
    """Four processes, as far as the server can tell."""
    opened = [await PostgresStore.open(postgres_url, clock=SystemClock(), random=SystemRandom()) for _ in range(4)]
    yield opened
    for store in opened:
        await store.close()


@pytest.fixture
async def store(stores: list[PostgresStore]) -> PostgresStore:
    return stores[0]


class Slow:
    """Somebody in the middle of a transaction."""

    def __init__(self, connection: "asyncpg.Connection[asyncpg.Record]", store: PostgresStore) -> None:
        self._connection = connection
        self._store = store

    async def do(self, statement: str, *values: Any) -> None:
        """One more step of it."""
        await self._connection.execute(statement, *values)

    async def until_blocking(self, asking: Coroutine[Any, Any, T]) -> "asyncio.Task[T]":
        """Begin with *asking*, and return once it has to wait for this transaction."""
        task = asyncio.create_task(asking)
        blocks = "SELECT count(*) FROM pg_stat_activity WHERE $1 = ANY (pg_blocking_pids(pid))"
        while not await self._store._engine.value(blocks, self._connection.get_server_pid()):
            assert not task.done(), "nobody has to wait"
            await asyncio.sleep(0.001)
        return task


@pytest.fixture
async def slow(postgres_url: str, store: PostgresStore) -> AsyncIterator[Slow]:
    connection = await connect(address(postgres_url))
    await connection.execute("BEGIN")
    yield Slow(connection, store)
    await connection.close()


@pytest.mark.parametrize("outcome", SETTLEMENTS, ids=repr)
async def test_a_settle_behind_a_fence_that_moves_refuses_exactly_those_rows(
    store: PostgresStore, make: Factory, slow: Slow, outcome: Outcome
) -> None:
    await added(store, *make.runs(50))
    attempts = await claimed(store, await a_worker(store))
    moved = {attempt.run_id for attempt in attempts[::3]}
    await slow.do("UPDATE queue SET fence = fence + 1 WHERE id = ANY ($1)", list(moved))
    settling = await slow.until_blocking(store.work.settle([verdict(attempt, outcome) for attempt in attempts]))
    await slow.do("COMMIT")
    expected = [Settled.STALE if attempt.run_id in moved else Settled.ACCEPTED for attempt in attempts]
    assert list(await settling) == expected
    states = {attempt.run_id: await state_of(store, attempt.run_id) for attempt in attempts}
    assert {run_id for run_id, state in states.items() if state is State.RUNNING} == moved


async def test_a_settle_behind_one_that_is_rolled_back_is_accepted(
    store: PostgresStore, make: Factory, slow: Slow
) -> None:
    attempt = await held(store, await a_worker(store), make.run())
    await slow.do("DELETE FROM queue WHERE id = $1", attempt.run_id)
    settling = await slow.until_blocking(settled(store, attempt, Succeeded()))
    await slow.do("ROLLBACK")
    assert await settling is Settled.ACCEPTED


async def test_a_claim_passes_over_what_somebody_else_holds(store: PostgresStore, make: Factory, slow: Slow) -> None:
    first, second = make.run(priority=90), make.run()
    await added(store, first, second)
    await slow.do("SELECT FROM queue WHERE id = $1 FOR UPDATE", first.id)
    worker = await a_worker(store)
    assert (await claimed_one(store, worker)).run_id == second.id
    await slow.do("COMMIT")
    assert (await claimed_one(store, worker)).run_id == first.id


async def test_lanes_whose_runs_are_all_held_are_asked_again_soon_but_not_at_once(
    store: PostgresStore, make: Factory, slow: Slow
) -> None:
    await added(store, *make.runs(4))
    await slow.do("SELECT FROM queue FOR UPDATE")
    claim = await store.work.claim(await a_worker(store), LANES, 4)
    assert not claim.attempts
    assert claim.next_in is not None
    assert timedelta(0) < claim.next_in < timedelta(seconds=1)


async def test_an_order_that_waited_for_the_end_of_a_run_is_refused(
    store: PostgresStore, make: Factory, slow: Slow
) -> None:
    attempt = await held(store, await a_worker(store), make.run())
    await slow.do("SELECT FROM queue WHERE id = $1 FOR UPDATE", attempt.run_id)
    steering = await slow.until_blocking(store.work.steer(attempt.run_id, Cancel()))
    await slow.do("SELECT succeed($1, $2, NULL, NULL)", attempt.run_id, attempt.fence)  # it ends after the order began
    await slow.do("COMMIT")
    assert await steering == Steered(effect=Effect.REFUSED, state=State.SUCCEEDED)


@pytest.mark.parametrize("note", [None, lambda _: []], ids=["without a note", "with a note"])
async def test_an_addition_that_meets_another_of_the_same_id_stores_the_rest(
    store: PostgresStore, make: Factory, slow: Slow, note: Note | None
) -> None:
    alike, met, new = make.runs(3)
    await added(store, alike)
    columns = (
        "owner, project, name, spec, kind, due_at, wake_at, handler, lane, priority, timeout, retry, payload, blob"
    )
    copied = f"INSERT INTO queue (id, job_id, {columns}) SELECT $1, $1, {columns} FROM queue WHERE id = $2"  # noqa: S608
    await slow.do(copied, met.id, alike.id)
    adding = await slow.until_blocking(store.work.add([met, new], note=note))
    await slow.do("COMMIT")
    assert [answer.kind for answer in await adding] == [Addition.EXISTING, Addition.CREATED]
    worker = await a_worker(store)
    assert {attempt.run_id for attempt in await claimed(store, worker)} == {alike.id, met.id, new.id}


async def test_an_addition_repeated_while_the_run_ends_does_not_run_it_again(
    store: PostgresStore, make: Factory, slow: Slow
) -> None:
    run, worker = make.run(), await a_worker(store)
    attempt = await held(store, worker, run)
    await slow.do("SELECT succeed($1, $2, NULL, NULL)", run.id, attempt.fence)
    again = await store.work.add([run])
    await slow.do("COMMIT")
    assert again == [Added(Addition.EXISTING, run.id)]
    assert not await claimed(store, worker)


async def test_an_addition_behind_one_that_is_rolled_back_is_stored(
    store: PostgresStore, make: Factory, slow: Slow
) -> None:
    run = make.run(key=a_key("k"))
    await slow.do(
        "INSERT INTO idempotency (owner, key, id, body) VALUES ($1, 'k', $2, 'other')", run.owner, RunId(make.id())
    )
    adding = await slow.until_blocking(store.work.add([run]))
    await slow.do("ROLLBACK")
    assert await adding == [Added(Addition.CREATED, run.id)]


async def test_an_addition_behind_one_that_takes_its_key_conflicts_with_it(
    store: PostgresStore, make: Factory, slow: Slow
) -> None:
    run, other = make.run(key=a_key("k")), RunId(make.id())
    fine = make.run(key=a_key("a"))
    await slow.do("INSERT INTO idempotency (owner, key, id, body) VALUES ($1, 'k', $2, 'other')", run.owner, other)
    adding = await slow.until_blocking(store.work.add([run, fine]))
    await slow.do("COMMIT")
    assert await adding == [Added(Addition.CONFLICT, other), Added(Addition.CREATED, fine.id)]


@pytest.mark.parametrize("keyed", [False, True])
async def test_additions_of_the_same_runs_in_every_order_store_each_once(
    stores: list[PostgresStore], make: Factory, *, keyed: bool
) -> None:
    runs = [make.run(key=a_key(str(number)) if keyed else None) for number in range(200)]
    orders = [Random(number).sample(runs, len(runs)) for number in range(len(stores))]
    answers = await asyncio.gather(*(store.work.add(order) for store, order in zip(stores, orders, strict=True)))
    created = Counter(answer.id for answer in chain(*answers) if answer.kind is Addition.CREATED)
    assert created == Counter(run.id for run in runs)
    assert {answer.kind for answer in chain(*answers)} == {Addition.CREATED, Addition.EXISTING}


async def test_of_many_bodies_for_one_key_one_is_stored_and_the_others_conflict_with_it(
    stores: list[PostgresStore], make: Factory
) -> None:
    runs = [make.run(key=a_key("k", str(number % 4))) for number in range(24)]
    answers = await asyncio.gather(
        *(stores[number % 4].work.add([run], together=number % 3 == 0) for number, run in enumerate(runs))
    )
    kinds = Counter(answer.kind for (answer,) in answers)
    assert kinds == {Addition.CREATED: 1, Addition.EXISTING: 5, Addition.CONFLICT: 18}
    assert len({answer.id for (answer,) in answers}) == 1


async def test_callers_who_come_at_once_share_statements_and_get_their_own_answers(
    store: PostgresStore, make: Factory
) -> None:
    runs = make.runs(100)
    await added(store, *runs[::2])
    answers = await asyncio.gather(*(store.work.add([run]) for run in runs))
    assert list(chain(*answers)) == [
        Added(Addition.CREATED if number % 2 else Addition.EXISTING, run.id) for number, run in enumerate(runs)
    ]
    assert await store._engine.value("SELECT count(DISTINCT xact) FROM tally WHERE what = 'added'") < 10


@pytest.mark.parametrize("keyed", [False, True])
async def test_what_cannot_be_stored_takes_nobody_with_it(store: PostgresStore, make: Factory, *, keyed: bool) -> None:
    names = ["fine", "also fine", "no\0text", "fine as well"]
    runs = [make.run(name=name, key=a_key(name[:5]) if keyed else None) for name in names]
    answers = await asyncio.gather(*(store.work.add([run]) for run in runs), return_exceptions=True)
    assert isinstance(answers.pop(2), StoreError)
    assert answers == [[Added(Addition.CREATED, runs[number].id)] for number in (0, 1, 3)]


async def test_a_caller_who_leaves_takes_nobody_along(store: PostgresStore, make: Factory) -> None:
    runs = make.runs(4)
    callers = [asyncio.create_task(store.work.add([run])) for run in runs]
    await asyncio.sleep(0)
    callers[0].cancel()
    callers[2].cancel()
    answers = await asyncio.gather(*callers, return_exceptions=True)
    assert [isinstance(answer, asyncio.CancelledError) for answer in answers] == [True, False, True, False]
    assert answers[3] == [Added(Addition.CREATED, runs[3].id)]


class Storm:
    """Claimers and editors that want the same runs, until all have ended."""

    def __init__(self, runs: Sequence[RunId]) -> None:
        self._runs = runs
        self._held: set[RunId] = set()
        self.over = asyncio.Event()
        self.handed_over: list[tuple[RunId, int]] = []
        self.succeeded: list[RunId] = []

    async def claim(self, store: PostgresStore, random: Random) -> None:
        """Take runs and settle them in every way there is."""
        session = await a_worker(store, f"worker-{random.random()}")
        while not self.over.is_set():
            lanes = random.sample(LANES, random.randint(1, len(LANES)))
            attempts = (await store.work.claim(session, lanes, random.randint(1, 60))).attempts
            self.handed_over += [(attempt.run_id, attempt.fence) for attempt in attempts]
            taken = {attempt.run_id for attempt in attempts}
            assert self._held.isdisjoint(taken), "a run is in two pairs of hands"
            self._held |= taken
            verdicts = [verdict(attempt, random.choice(STORMY)) for attempt in attempts]
            self._held -= taken  # from here on, somebody else may claim them
            for told, answer in zip(verdicts, await store.work.settle(verdicts), strict=True):
                if told.state is State.SUCCEEDED and answer is Settled.ACCEPTED:
                    self.succeeded.append(told.run_id)
            if not attempts and not await store._engine.value("SELECT count(*) FROM queue"):
                self.over.set()

    async def edit(self, store: PostgresStore, random: Random) -> None:
        """Move waiting runs about, and cancel a few."""
        while not self.over.is_set():
            run = random.choice(self._runs)
            task = a_task(lane=random.choice(LANES), priority=random.randint(0, 3))
            choices: list[list[Order]] = [[Hold(), Release()], [Edit(task=task)], [Cancel()], [Release()]]
            for order in random.choice(choices):
                await store.work.steer(run, order)


@pytest.mark.slow
async def test_in_a_storm_every_run_ends_once_and_no_fence_is_handed_out_twice(
    stores: list[PostgresStore], store: PostgresStore, make: Factory
) -> None:
    runs = [make.run(lane=LANES[number % 2], priority=number % 3) for number in range(JOBS)]
    await added(store, *runs)
    storm = Storm([run.id for run in runs])
    await asyncio.gather(
        *(storm.claim(each, Random(number)) for number, each in enumerate(stores)),
        *(storm.edit(each, Random(10 + number)) for number, each in enumerate(stores[:2])),
    )
    assert len(storm.handed_over) == len(set(storm.handed_over))
    ended = await store._engine.fetch("SELECT id, state FROM history")
    assert sorted(run_id for run_id, _ in ended) == [run.id for run in runs]
    assert sorted(run_id for run_id, state in ended if state == State.SUCCEEDED) == sorted(storm.succeeded)
    tallies = (await store.views.figures()).tallies
    assert sum(tally.added for tally in tallies) == JOBS
    assert sum(count for tally in tallies for count in tally.ended.values()) == JOBS
    assert {tally.lane: tally.live for tally in tallies} == dict.fromkeys(LANES, 0)
    assert sum(tally.started for tally in tallies) == len(storm.handed_over)
