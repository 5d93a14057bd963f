"""Adding runs and jobs: once each, whatever is repeated."""

import asyncio
from collections.abc import Sequence
from datetime import timedelta

import pytest

from mainspring.domain.ids import derived_run_id
from mainspring.domain.job import NewJob
from mainspring.domain.outcome import Settled, Succeeded
from mainspring.domain.run import Key, NewRun, State
from mainspring.ports.audit import Entry
from mainspring.ports.views import Cursor, DeadFilter, JobFilter, RunFilter
from mainspring.ports.work import Added, Addition
from mainspring.testing.contracts.base import (
    FAR,
    Store,
    StoreContract,
    a_worker,
    added,
    claimed,
    claimed_one,
    dead,
    held,
    past,
    seen,
    settled,
)
from mainspring.testing.factories import Factory, a_key

EVERYTHING = Cursor(limit=1000)

ODD_PAYLOADS = [
    b"null",
    b'"a\\u0000b"',
    b'  {"b" : 1,\n "a":2, "a":3 }\t',
    '"\u00e4\u4e2d\U0001f4a5\u2028\'"'.encode(),
    b"1e400",
    b'"\x00"',
    b"[" + b'"' + b"x" * 4092 + b'"' + b"]",
]


def _kinds(answers: Sequence[Added]) -> Sequence[Entry]:
    kinds = " ".join(answer.kind for answer in answers)
    return [Entry(actor="ann", owner="o", action=kinds, subject="jobs")]


class AddingContract(StoreContract):
    """`Work.add`."""

    async def test_an_added_run_waits_for_its_first_attempt(self, store: Store, make: Factory) -> None:
        new = make.run(name="report", project="p", owner="o", spec=b'{"description":"x"}', handler="h", priority=7)
        assert await store.work.add([new]) == [Added(Addition.CREATED, new.id)]
        run = await seen(store, new.id)
        assert (run.job_id, run.task, run.name, run.spec) == (new.job_id, new.task, "report", new.spec)
        assert (run.owner, run.project, run.key, run.origin) == ("o", "p", None, None)
        assert (run.state, run.version, run.attempt, run.failures, run.losses) == (State.WAITING, 1, 0, 0, 0)
        assert (run.started_at, run.finished_at, run.cancelling, run.log) == (None, None, False, b"")

    async def test_nothing_to_add_is_no_error(self, store: Store) -> None:
        assert list(await store.work.add([])) == []

    async def test_a_batch_is_answered_in_its_order(self, store: Store, make: Factory) -> None:
        first, second, job = make.run(), make.run(), make.new_job()
        await added(store, second)
        assert await store.work.add([second, job, first]) == [
            Added(Addition.EXISTING, second.id),
            Added(Addition.CREATED, job.job.id),
            Added(Addition.CREATED, first.id),
        ]

    async def test_a_duration_is_counted_from_the_stores_now(self, store: Store, make: Factory) -> None:
        new = make.run(due=FAR)
        before = await store.views.now()
        await added(store, new)
        after = await store.views.now()
        run = await seen(store, new.id)
        # Stores may keep whole milliseconds.
        assert before - timedelta(milliseconds=1) <= run.due_at - FAR <= after
        assert run.wake_at == run.due_at

    async def test_an_instant_is_kept_as_it_is(self, store: Store, make: Factory) -> None:
        due = await past(store, 3600)
        new = make.run(due=due)
        await added(store, new)
        run = await seen(store, new.id)
        assert (run.due_at, run.wake_at) == (due, due)

    @pytest.mark.parametrize("payload", ODD_PAYLOADS, ids=lambda payload: payload[:8].hex())
    async def test_the_payload_is_kept_byte_for_byte(self, store: Store, make: Factory, payload: bytes) -> None:
        attempt = await held(store, await a_worker(store), make.run(payload=payload))
        assert attempt.task.payload == payload
        assert (await seen(store, attempt.run_id)).task.payload == payload

    async def test_a_repeated_add_has_no_second_effect(self, store: Store, make: Factory) -> None:
        new = make.run()
        await added(store, new)
        before = await seen(store, new.id)
        assert await store.work.add([new]) == [Added(Addition.EXISTING, new.id)]
        assert await seen(store, new.id) == before

    async def test_an_add_repeated_after_the_run_has_ended_does_not_run_it_again(
        self, store: Store, make: Factory
    ) -> None:
        new, worker = make.run(), await a_worker(store)
        attempt = await held(store, worker, new)
        assert await settled(store, attempt, Succeeded()) is Settled.ACCEPTED
        assert await store.work.add([new]) == [Added(Addition.EXISTING, new.id)]
        assert not await claimed(store, worker)

    async def test_one_id_twice_in_a_batch_is_stored_once(self, store: Store, make: Factory) -> None:
        new = make.run()
        kinds = [answer.kind for answer in await store.work.add([new, new])]
        assert kinds == [Addition.CREATED, Addition.EXISTING]
        await claimed_one(store, await a_worker(store))

    async def test_the_same_key_and_body_name_the_first_run(self, store: Store, make: Factory) -> None:
        first, again = make.run(key=a_key("k")), make.run(key=a_key("k"))
        await added(store, first)
        assert await store.work.add([again]) == [Added(Addition.EXISTING, first.id)]
        assert await store.views.run(again.id) is None
        assert (await seen(store, first.id)).key == "k"

    async def test_the_same_key_with_another_body_conflicts(self, store: Store, make: Factory) -> None:
        first, other = make.run(key=a_key("k")), make.run(key=a_key("k", "other"))
        await added(store, first)
        assert await store.work.add([other]) == [Added(Addition.CONFLICT, first.id)]
        assert await store.views.run(other.id) is None

    async def test_a_key_is_remembered_after_its_run_has_ended(self, store: Store, make: Factory) -> None:
        first, again = make.run(key=a_key("k")), make.run(key=a_key("k"))
        await settled(store, await held(store, await a_worker(store), first), Succeeded())
        assert await store.work.add([again]) == [Added(Addition.EXISTING, first.id)]

    async def test_owners_do_not_share_keys(self, store: Store, make: Factory) -> None:
        mine, theirs = make.run(key=a_key("k"), owner="me"), make.run(key=a_key("k", "other"), owner="them")
        await added(store, mine, theirs)

    async def test_runs_and_standing_jobs_share_keys(self, store: Store, make: Factory) -> None:
        job, run = make.new_job(key=a_key("k")), make.run(key=a_key("k"))
        await store.work.add([job])
        assert await store.work.add([run]) == [Added(Addition.EXISTING, job.job.id)]
        other = make.new_job(key=a_key("k", "other"))
        assert await store.work.add([other]) == [Added(Addition.CONFLICT, job.job.id)]
        assert await store.views.job(other.job.id) is None

    async def test_a_key_with_another_purpose_is_another_key(self, store: Store, make: Factory) -> None:
        texts = ["trigger/k", Key.apart("trigger", "k", b"").text, Key.apart("retry", "k", b"").text, "k"]
        runs = [make.run(key=a_key(text, text)) for text in texts]
        assert [added.kind for added in await store.work.add(runs)] == [Addition.CREATED] * len(runs)
        again = [make.run(key=a_key(text, text)) for text in texts]
        assert [added.id for added in await store.work.add(again)] == [run.id for run in runs]

    async def test_one_key_twice_in_a_batch_is_stored_once(self, store: Store, make: Factory) -> None:
        first, again, other = (make.run(key=a_key("k", body)) for body in ("body", "body", "other"))
        assert await store.work.add([first, again, other]) == [
            Added(Addition.CREATED, first.id),
            Added(Addition.EXISTING, first.id),
            Added(Addition.CONFLICT, first.id),
        ]

    async def test_a_conflict_does_not_hinder_the_rest_of_the_batch(self, store: Store, make: Factory) -> None:
        taken, conflicting, fine = make.run(key=a_key("k")), make.run(key=a_key("k", "other")), make.run()
        await added(store, taken)
        kinds = [answer.kind for answer in await store.work.add([conflicting, fine])]
        assert kinds == [Addition.CONFLICT, Addition.CREATED]
        assert await store.views.run(fine.id) is not None

    async def test_together_a_single_conflict_stores_nothing(self, store: Store, make: Factory) -> None:
        if not self.has_transactions:
            pytest.skip("the store can't take a batch back")
        taken, conflicting = make.run(key=a_key("k")), make.run(key=a_key("k", "other"))
        fine, job = make.run(key=a_key("fine")), make.new_job()
        await added(store, taken)
        answers = await store.work.add([fine, conflicting, job], together=True)
        assert answers == [
            Added(Addition.WITHHELD, fine.id),
            Added(Addition.CONFLICT, taken.id),
            Added(Addition.WITHHELD, job.job.id),
        ]
        assert [run.id for run in (await store.views.runs(RunFilter(), EVERYTHING)).items] == [taken.id]
        # The key of what was withheld is free.
        assert await store.work.add([fine], together=True) == [Added(Addition.CREATED, fine.id)]

    async def test_together_a_repetition_of_what_is_withheld_is_withheld_too(self, store: Store, make: Factory) -> None:
        if not self.has_transactions:
            pytest.skip("the store can't take a batch back")
        first, again = make.run(key=a_key("a")), make.run(key=a_key("a"))
        batch = [first, again, make.run(key=a_key("b")), make.run(key=a_key("b", "other"))]
        answers = await store.work.add(batch, together=True)
        assert answers[:2] == [Added(Addition.WITHHELD, first.id), Added(Addition.WITHHELD, first.id)]
        assert [answer.kind for answer in answers[2:]] == [Addition.WITHHELD, Addition.CONFLICT]

    async def test_together_without_conflicts_everything_is_stored(self, store: Store, make: Factory) -> None:
        items: list[NewRun | NewJob] = [make.run(key=a_key("a")), make.new_job(), make.run()]
        kinds = [answer.kind for answer in await store.work.add(items, together=True)]
        assert kinds == [Addition.CREATED] * 3

    @pytest.mark.parametrize("together", [False, True])
    async def test_what_is_noted_about_the_answers_is_in_the_audit(
        self, store: Store, make: Factory, together: bool
    ) -> None:
        earlier, plain, keyed, job = make.run(), make.run(), make.run(key=a_key("k")), make.new_job()
        await added(store, earlier)
        await store.work.add([plain, earlier], together=together, note=_kinds)
        await store.work.add([keyed, job], together=together, note=_kinds)
        await store.work.add([keyed], together=together, note=lambda _: ())
        recorded = await store.audit.page(owner=None, job_id=None, before=None, limit=10)
        assert [each.entry.action for each in reversed(recorded)] == ["created existing", "created created"]

    async def test_what_cannot_be_noted_is_not_stored(self, store: Store, make: Factory) -> None:
        if not self.has_transactions:
            pytest.skip("the store notes what it has stored")
        plain, keyed = make.run(), make.run(key=a_key("k"))
        for new in (plain, keyed):
            with pytest.raises(ZeroDivisionError):
                await store.work.add([new], note=lambda _: [1 // 0])  # type: ignore[list-item]  # it is never returned
        assert not (await store.views.runs(RunFilter(), EVERYTHING)).items
        assert await store.work.add([keyed]) == [Added(Addition.CREATED, keyed.id)]

    async def test_concurrent_adds_with_one_key_create_one(
        self, store: Store, second_store: Store, make: Factory
    ) -> None:
        runs = [make.run(key=a_key("k")) for _ in range(10)]
        handles = [store, second_store] * 5
        answers = [
            answer
            for (answer,) in await asyncio.gather(
                *(handle.work.add([run]) for handle, run in zip(handles, runs, strict=True))
            )
        ]
        assert sorted(answer.kind for answer in answers) == [Addition.CREATED] + [Addition.EXISTING] * 9
        assert len({answer.id for answer in answers}) == 1
        assert len((await store.views.runs(RunFilter(), EVERYTHING)).items) == 1

    async def test_a_standing_job_is_stored_whole(self, store: Store, make: Factory) -> None:
        new = make.new_job(
            key=a_key("k"), owner="o", project="p", name="nightly", fires_at=await past(store), schedule="0 3 * * *"
        )
        assert await store.work.add([new]) == [Added(Addition.CREATED, new.job.id)]
        record = await store.views.job(new.job.id)
        assert record is not None
        assert record.job == new.job
        assert record.run is None

    async def test_a_repeated_add_does_not_undo_an_edit_of_the_job(self, store: Store, make: Factory) -> None:
        new = make.new_job(name="before")
        await store.work.add([new])
        saved = await store.timetable.save(new.job, new.job)
        assert await store.work.add([new]) == [Added(Addition.EXISTING, new.job.id)]
        (record,) = (await store.views.jobs(JobFilter(), EVERYTHING)).items
        assert record.job.version == saved.version

    async def test_adding_a_run_with_an_origin_takes_the_dead_letter_off_the_list(
        self, store: Store, make: Factory
    ) -> None:
        died = await dead(store, await a_worker(store), make.run())
        again = make.run(job_id=died.job_id, origin=died.id)
        await added(store, again)
        assert not (await store.views.dead_letters(DeadFilter(), EVERYTHING)).items
        assert (await seen(store, died.id)).state is State.DEAD
        assert (await seen(store, again.id)).origin == died.id

    async def test_a_requeue_repeated_after_a_lost_reply_makes_one_run(self, store: Store, make: Factory) -> None:
        died = await dead(store, await a_worker(store), make.run())
        again = NewRun(
            id=derived_run_id(died.id, "requeue-1", make.moment), job_id=died.job_id, task=died.task, origin=died.id
        )
        kinds = [(await store.work.add([again]))[0].kind for _ in range(2)]
        assert kinds == [Addition.CREATED, Addition.EXISTING]
