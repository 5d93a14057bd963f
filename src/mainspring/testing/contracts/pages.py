"""Lists of `Views`: every row once, newest first, whatever happens in between."""

from collections.abc import Awaitable, Callable
from dataclasses import replace
from datetime import timedelta
from typing import TypeVar
from uuid import UUID

import pytest

from mainspring.domain.ids import fired_run_id
from mainspring.domain.job import JobState, NewJob
from mainspring.domain.outcome import Failed, Outcome, Succeeded
from mainspring.domain.run import NewRun, State
from mainspring.ports.views import Cursor, DeadFilter, JobFilter, Page, RunFilter
from mainspring.ports.work import Cancel, Hold
from mainspring.testing.contracts.base import (
    FAR,
    Store,
    StoreContract,
    a_worker,
    added,
    claimed,
    dead,
    held,
    past,
    settled,
    verdict,
)
from mainspring.testing.contracts.firing import fired, standing
from mainspring.testing.factories import Factory, a_key

T = TypeVar("T")


async def nothing() -> None:
    """Happens between two pages."""


async def walked(
    read: Callable[[Cursor], Awaitable[Page[T]]],
    identity: Callable[[T], UUID],
    *,
    limit: int = 3,
    between: Callable[[], Awaitable[None]] = nothing,
) -> list[UUID]:
    """The ids of all items, page by page; a page may be short, or empty, as long as it names the next."""
    found: list[UUID] = []
    cursor = Cursor(limit=limit)
    while True:
        page = await read(cursor)
        assert len(page.items) <= limit
        found += [identity(item) for item in page.items]
        if page.next is None:
            return found
        assert cursor.before is None or page.next < cursor.before
        cursor = Cursor(before=page.next, limit=limit)
        await between()


async def job_ids(store: Store, where: JobFilter, **options: object) -> list[UUID]:
    """The ids of jobs, page by page."""
    return await walked(lambda cursor: store.views.jobs(where, cursor), lambda record: record.job.id, **options)  # type: ignore[arg-type]  # passed on


async def run_ids(store: Store, where: RunFilter, **options: object) -> list[UUID]:
    """The ids of runs, page by page."""
    return await walked(lambda cursor: store.views.runs(where, cursor), lambda run: run.id, **options)  # type: ignore[arg-type]  # passed on


class PagesContract(StoreContract):
    """`Views.jobs`, `Views.runs` and `Views.dead_letters` as pages."""

    async def test_empty_lists_have_no_next_page(self, store: Store) -> None:
        empty: Page[object] = Page(items=[], next=None)
        for page in (
            await store.views.jobs(JobFilter(), Cursor()),
            await store.views.runs(RunFilter(), Cursor()),
            await store.views.dead_letters(DeadFilter(), Cursor()),
        ):
            assert (list(page.items), page.next) == (list(empty.items), empty.next)

    async def test_standing_and_one_shot_jobs_are_one_list_newest_first(self, store: Store, make: Factory) -> None:
        items: list[NewRun | NewJob] = [make.run(), make.new_job(), make.run(due=FAR), make.new_job(), make.run()]
        await store.work.add(items)
        attempts = await claimed(store, await a_worker(store), 1)
        await settled(store, attempts[0], Succeeded())
        ids = [item.job.id if isinstance(item, NewJob) else item.id for item in items]
        assert await job_ids(store, JobFilter(), limit=2) == ids[::-1]

    async def test_runs_are_listed_by_fire_time_whatever_their_state(self, store: Store, make: Factory) -> None:
        job = await standing(store, make, await past(store, 3600))
        early = await fired(store, job)
        one_shots = make.runs(4)
        await added(store, *one_shots)
        attempts = await claimed(store, await a_worker(store), 3)
        await settled(store, attempts[0], Succeeded())
        await settled(store, attempts[1], Failed(error="broken", permanent=True))
        assert await run_ids(store, RunFilter(), limit=2) == [run.id for run in one_shots[::-1]] + [early]

    @pytest.mark.parametrize("limit", [1, 4, 5, 6, 100])
    async def test_every_row_is_on_exactly_one_page(self, store: Store, make: Factory, limit: int) -> None:
        runs = make.runs(10)
        await added(store, *runs)
        expected = [run.id for run in runs[::-1]]
        assert await run_ids(store, RunFilter(), limit=limit) == expected
        assert await job_ids(store, JobFilter(), limit=limit) == expected

    async def test_a_walk_sees_what_was_there_once_while_rows_come_and_change(
        self, store: Store, make: Factory
    ) -> None:
        worker = await a_worker(store)
        runs, jobs = make.runs(12), [make.new_job() for _ in range(6)]
        await store.work.add([*(item for pair in zip(runs[:6], jobs, strict=True) for item in pair), *runs[6:]])
        at_start = {*(run.id for run in runs), *(job.job.id for job in jobs)}
        oldest = await past(store, 7200)
        moments = (oldest + timedelta(seconds=number) for number in range(1000))

        async def life_goes_on() -> None:
            late = make.run(job_id=jobs[0].job.id)
            fire_time = next(moments)
            await added(store, make.run(), replace(late, id=fired_run_id(late.job_id, fire_time), due=fire_time))
            attempts = await claimed(store, worker, 3)
            outcomes: tuple[Outcome, ...] = (
                Succeeded(),
                Failed(error="broken", permanent=True),
                Failed(error="busy", retry_after=FAR),
            )
            await store.work.settle(
                [verdict(attempt, outcome) for attempt, outcome in zip(attempts, outcomes, strict=False)]
            )

        found = await job_ids(store, JobFilter(), limit=4, between=life_goes_on)
        assert sorted(identity for identity in found if identity in at_start) == sorted(at_start)
        assert len(found) == len(set(found))
        found = await run_ids(store, RunFilter(), limit=2, between=life_goes_on)
        assert {run.id for run in runs} <= set(found)
        assert len(found) == len(set(found))

    async def test_dead_letters_are_paged_too(self, store: Store, make: Factory) -> None:
        worker = await a_worker(store)
        died = [await dead(store, worker, make.run()) for _ in range(7)]
        await store.work.discard([died[3].id])
        found = await walked(
            lambda cursor: store.views.dead_letters(DeadFilter(), cursor), lambda letter: letter.run.id, limit=2
        )
        assert found == [run.id for run in died[::-1] if run is not died[3]]

    async def test_jobs_are_filtered_by_what_they_are(self, store: Store, make: Factory) -> None:
        shot = make.run(owner="ann", project="p", name="daily report", handler="mail", key=a_key("k-1"))
        job = make.new_job(owner="ben", project="q", name="backup", key=a_key("k-2"))
        await store.work.add([shot, job])
        for where, expected in (
            (JobFilter(owner="ann"), [shot.id]),
            (JobFilter(project="q"), [job.job.id]),
            (JobFilter(name="backup"), [job.job.id]),
            (JobFilter(name="back"), []),
            (JobFilter(handler="mail"), [shot.id]),
            (JobFilter(key="k-2"), [job.job.id]),
            (JobFilter(key="k-1", owner="ben"), []),
            (JobFilter(text="report"), [shot.id]),
            (JobFilter(text="k-"), [job.job.id, shot.id]),
            (JobFilter(text="test.ec"), [job.job.id]),
            (JobFilter(text="%"), []),
            (JobFilter(text="_"), []),
            (JobFilter(text="\0"), []),
            (JobFilter(owner="\0", name="\0", handler="\0", project="\0"), []),
            (JobFilter(key="\0", owner="\0"), []),
        ):
            assert await job_ids(store, where) == expected, where

    async def test_jobs_are_filtered_by_their_state_and_their_runs(self, store: Store, make: Factory) -> None:
        paused, active = await standing(store, make), await standing(store, make)
        await store.timetable.save(replace(paused, state=JobState.PAUSED), paused)
        held_up, waiting = make.run(), make.run(due=FAR)
        await added(store, held_up, waiting)
        await store.work.steer(held_up.id, Hold())
        running = await held(store, await a_worker(store), make.run())
        for where, expected in (
            (JobFilter(states=frozenset({JobState.PAUSED})), [held_up.id, paused.id]),
            (JobFilter(states=frozenset({JobState.ACTIVE})), [running.run_id, waiting.id, active.id]),
            (JobFilter(run_states=frozenset({State.RUNNING})), [running.run_id]),
            (JobFilter(run_states=frozenset({State.WAITING, State.RUNNING})), [running.run_id, waiting.id, held_up.id]),
            (JobFilter(run_states=frozenset({State.DEAD})), []),
            (JobFilter(states=frozenset()), []),
        ):
            assert await job_ids(store, where, limit=1) == expected, where

    async def test_standing_jobs_are_listed_without_one_shots(self, store: Store, make: Factory) -> None:
        first, shot = await standing(store, make), make.run(owner="o", key=a_key("k"))
        died, second = await dead(store, await a_worker(store), shot), await standing(store, make)
        await added(store, make.run(job_id=shot.job_id, origin=died.id, due=FAR), make.run(due=FAR))
        assert await job_ids(store, JobFilter(standing=True)) == [second.id, first.id]
        assert await job_ids(store, JobFilter(standing=True, owner="o", key="k")) == []

    async def test_a_filtered_walk_finds_all_that_match(self, store: Store, make: Factory) -> None:
        runs = [make.run(owner="ann" if number % 3 == 0 else "ben") for number in range(12)]
        await added(store, *runs)
        expected = [run.id for run in runs[::-1] if run.owner == "ann"]
        assert await run_ids(store, RunFilter(owner="ann"), limit=3) == expected
        assert await job_ids(store, JobFilter(owner="ann"), limit=3) == expected

    async def test_runs_are_filtered(self, store: Store, make: Factory) -> None:
        first = await held(store, await a_worker(store, "worker-1"), make.run(owner="ann"))
        second = await held(store, await a_worker(store, "worker-2"), make.run(handler="mail"))
        await settled(store, second, Succeeded())
        third = make.run(job_id=first.job_id, origin=first.run_id)
        await added(store, third)
        await store.work.steer(third.id, Cancel())
        for where, expected in (
            (RunFilter(owner="ann"), [first.run_id]),
            (RunFilter(job_id=first.job_id), [third.id, first.run_id]),
            (RunFilter(worker="worker-2"), [second.run_id]),
            (RunFilter(handler="mail"), [second.run_id]),
            (RunFilter(states=frozenset({State.RUNNING})), [first.run_id]),
            (RunFilter(states=frozenset({State.SUCCEEDED, State.CANCELLED})), [third.id, second.run_id]),
            (RunFilter(states=frozenset({State.SUCCEEDED}), worker="worker-1"), []),
            (RunFilter(owner="\0", worker="\0", handler="\0"), []),
        ):
            assert await run_ids(store, where) == expected, where

    async def test_deleted_and_hidden_jobs_are_not_listed(self, store: Store, make: Factory) -> None:
        deleted = await standing(store, make)
        await store.timetable.save(replace(deleted, state=JobState.DELETED), deleted)
        hidden = await held(store, await a_worker(store), make.run())
        await settled(store, hidden, Succeeded())
        await store.work.hide(hidden.job_id)
        kept = make.run()
        await added(store, kept)
        assert await job_ids(store, JobFilter()) == [kept.id]
        assert await job_ids(store, JobFilter(states=frozenset(JobState))) == [kept.id]
