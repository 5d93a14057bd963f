"""Many jobs at once: in one request, or in many that share a write."""

import asyncio
import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any
from unittest.mock import AsyncMock

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mainspring.adapters.sqlite.store import SqliteStore
from mainspring.api.app import create_app
from mainspring.api.coalescer import Coalescer
from mainspring.api.document import read_object, read_objects
from mainspring.api.ports import ApiPorts
from mainspring.api.schemas.jobs import MAX_BATCH
from mainspring.errors import Invalid, StoreUnavailable
from tests.api.calling import JOBS, Api, calling

BATCH = f"{JOBS}/batch"
JOB = {"handler": "test.echo"}


async def test_a_batch_is_answered_in_its_order(api: Api) -> None:
    jobs = [{**JOB, "name": str(number), "schedule": "@daily" if number % 2 else "in 1h"} for number in range(250)]
    items = (await api.post(BATCH, 201, json={"jobs": jobs}))["items"]
    assert [job["name"] for job in items] == [job["name"] for job in jobs]
    for job in items[:4]:
        assert await api.get(f"{JOBS}/{job['id']}") == job


async def test_an_empty_batch_is_no_fault(api: Api) -> None:
    assert await api.post(BATCH, 201, json={"jobs": []}) == {"items": [], "existing": []}


async def test_repeated_keys_answer_the_first_job(api: Api) -> None:
    batch = {"jobs": [{**JOB, "key": "a"}, {**JOB, "key": "a"}, {**JOB, "key": "b"}]}
    answer = await api.post(BATCH, 201, json=batch)
    first = [job["id"] for job in answer["items"]]
    assert (first[0] == first[1], first[0] == first[2], answer["existing"]) == (True, False, [1])
    again = await api.post(BATCH, 201, json={"jobs": [JOB, *batch["jobs"]]})
    assert ([job["id"] for job in again["items"][1:]], again["existing"]) == (first, [1, 2, 3])
    assert len((await api.get(JOBS))["items"]) == 3


async def test_a_key_that_stands_for_another_body_stores_nothing(api: Api) -> None:
    await api.submitted(key="a")
    batch = {"jobs": [JOB, {**JOB, "key": "a", "priority": 1}]}
    problem = await api.post(BATCH, 409, json=batch)
    assert problem["error"] == "idempotency_conflict"
    assert "jobs.1" in problem["detail"]
    assert len((await api.get(JOBS))["items"]) == 1


async def test_every_fault_of_a_batch_is_named_by_its_place_and_nothing_is_stored(api: Api) -> None:
    wrong = [
        {**JOB, "priorty": 1},
        {**JOB, "schedule": "never"},
        {"handler": "nobody.knows"},
        {**JOB, "retry": {"kind": 1}},
    ]
    problem = await api.post(BATCH, 422, json={"jobs": [JOB, *wrong]})
    faults = {fault["field"]: fault["detail"] for fault in problem["errors"]}
    assert set(faults) == {"jobs.1.priorty", "jobs.2.schedule", "jobs.3.handler", "jobs.4.retry.kind"}
    assert "did you mean 'priority'?" in faults["jobs.1.priorty"]
    assert (await api.get(JOBS))["items"] == []


async def test_a_batch_with_many_faults_names_the_first_of_them(api: Api) -> None:
    problem = await api.post(BATCH, 422, json={"jobs": [{}] * 1000})
    assert len(problem["errors"]) == 20


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ("{}", "jobs"),
        ('{"jobs": {}}', "jobs"),
        ('{"jobs": 1}', "jobs"),
        ('{"jobs": [1]}', "jobs.0"),
        ('{"jobs": [{}, []]}', "jobs.1"),
        ('{"job": []}', "job"),
        ('{"jobs": [], "x": 1}', "jobs"),
        ('{"jobs": [], "jobs": []}', "jobs"),
        ("[]", None),
        ('{"jobs": [{]}', None),
        ('{"jobs": [{},]}', "jobs.1"),
        ('{"jobs": [{} {}]}', None),
        ('{"jobs": [{}', None),
        ('{"jobs": [{}]', None),
        ('{"jobs": [{}]}x', None),
        ('{"jobs"', None),
        ("{", None),
        ("", None),
        ('{"jobs": [{"payload": ' + "[" * 63 + "]" * 63 + "}]}", None),
    ],
)
def test_what_is_not_a_batch_is_refused(body: str, field: str | None) -> None:
    with pytest.raises(Invalid) as refused:
        list(read_objects(body.encode(), "jobs", 10))
    assert refused.value.field == field


def test_payloads_of_a_batch_are_kept_as_they_were_written() -> None:
    body = '{ "\\u006aobs" : [ {"payload" : {"payload": 1.0}} , {"a": "\\"payload\\": 2", "p\\u0061yload": 3.0 }, {}] }'
    documents = list(read_objects(body.encode(), "jobs", 10))
    assert [document.payload for document in documents] == [b'{"payload": 1.0}', b"3.0", None]


MEMBERS = st.sampled_from(
    [
        '"handler": "a"',
        '"handler":"b"',
        '"name": "x: y"',
        '"retry": {"kind": "fixed"}',
        '"payload": {"number": 1}',
        '"payload" : 1.0 ',
        '"p\\u0061yload": ["\\ud83d\\ude00", 12345678901234567890]',
        '"payload": {"deep": {"deep": ":"}, "payload": {}}',
    ]
)
DOUBTFUL = st.sampled_from(
    ['"payload": {"a": 1, "a": 2}', '"payload": "\\ud83d"', '"payload": NaN', '"payload": ' + "[" * 64 + "]" * 64]
)


def read_each(texts: Sequence[str]) -> list[tuple[dict[str, Any], bytes | None]] | None:
    """What a batch of them says by the longer way, object by object; None if it is to be refused."""
    try:
        return [read_object(text.encode())[:2] for text in texts]
    except Invalid:
        return None


@given(batch=st.lists(st.lists(MEMBERS | DOUBTFUL, max_size=3).map(", ".join).map("{{{}}}".format), max_size=8))
def test_objects_that_begin_alike_are_read_like_any_other(batch: Sequence[str]) -> None:
    body = '{"jobs": [' + " ,".join(batch) + "]}"
    try:
        found = [document[:2] for document in read_objects(body.encode(), "jobs", 10)]
    except Invalid:
        found = None
    assert found == read_each(batch)


def test_an_object_is_alike_if_nothing_but_the_payload_differs() -> None:
    texts = [
        '{"handler": "a", "payload": 1}',
        '{"handler": "a", "payload": {"b": 2}}',
        '{"handler": "a", "payload": 3, "name": "c"}',
        '{"handler": "a", "payload": 4}',
        '{"handler": "b", "payload": 4}',
        "{}",
    ]
    documents = list(read_objects(f'{{"jobs": [{",".join(texts)}]}}'.encode(), "jobs", 10))
    assert [document.alike for document in documents] == [False, True, False, False, False, False]


def test_an_object_that_begins_alike_may_be_nested_no_deeper() -> None:
    def body(levels: int) -> bytes:
        nested = "[" * levels + "]" * levels
        return f'{{"jobs": [{{"payload": 1}}, {{"payload": {nested}}}]}}'.encode()

    assert [document.alike for document in read_objects(body(61), "jobs", 10)] == [False, True]
    with pytest.raises(Invalid, match="nested"):
        list(read_objects(body(62), "jobs", 10))


async def test_what_resembles_a_refused_job_is_refused_as_well(api: Api) -> None:
    jobs = [{**JOB, "payload": 1}, *({"handler": "nobody.knows", "payload": number} for number in range(2))]
    problem = await api.post(BATCH, 422, json={"jobs": jobs})
    assert [fault["field"] for fault in problem["errors"]] == ["jobs.1.handler", "jobs.2.handler"]


async def test_jobs_that_are_alike_may_not_share_a_key_with_another_payload(api: Api) -> None:
    jobs = [{**JOB, "key": "once", "payload": number} for number in range(2)]
    assert "jobs.1" in (await api.post(BATCH, 409, json={"jobs": jobs}))["detail"]
    assert len((await api.post(BATCH, 201, json={"jobs": [jobs[0], jobs[0]]}))["existing"]) == 1


def test_a_batch_has_a_limit() -> None:
    assert len(list(read_objects(json.dumps({"jobs": [{}] * MAX_BATCH}).encode(), "jobs", MAX_BATCH))) == MAX_BATCH
    with pytest.raises(Invalid, match="at most"):
        list(read_objects(json.dumps({"jobs": [{}] * (MAX_BATCH + 1)}).encode(), "jobs", MAX_BATCH))


async def test_large_payloads_of_a_batch_lie_in_blobs(api: Api) -> None:
    payloads = ["x" * 5000, "short", "y" * 5000]
    items = (await api.post(BATCH, 201, json={"jobs": [{**JOB, "payload": each} for each in payloads]}))["items"]
    assert [job["payload"] for job in items] == payloads
    assert [(await api.get(f"{JOBS}/{job['id']}"))["payload"] for job in items] == payloads


async def test_concurrent_submissions_share_a_write(ports: ApiPorts, store: SqliteStore) -> None:
    work = AsyncMock(wraps=store.work)
    async with calling(create_app(replace(ports, work=work))) as api:
        jobs = await asyncio.gather(*(api.submitted(name=str(number)) for number in range(50)))
    assert [job["name"] for job in jobs] == [str(number) for number in range(50)]
    assert work.add.await_count < 50
    assert sum(len(call.args[0]) for call in work.add.await_args_list) == 50


class Store:
    """Takes batches, one at a time, when it is let."""

    def __init__(self) -> None:
        self.batches: list[Sequence[int]] = []
        self.free = asyncio.Event()

    async def take(self, batch: Sequence[int]) -> Sequence[int]:
        self.batches.append(list(batch))
        await self.free.wait()
        if 0 in batch:
            raise ZeroDivisionError
        if 13 in batch:
            raise StoreUnavailable("away")
        return [-each for each in batch]


async def test_what_comes_while_the_store_is_busy_goes_together_next() -> None:
    store = Store()
    coalescer = Coalescer(store.take, most=3)
    first = asyncio.create_task(coalescer.put(1))
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    others = [asyncio.create_task(coalescer.put(number)) for number in (2, 3, 4, 5)]
    await asyncio.sleep(0)
    store.free.set()
    assert await asyncio.gather(first, *others) == [-1, -2, -3, -4, -5]
    assert store.batches == [[1], [2, 3, 4], [5]]


async def test_a_bad_item_does_not_fail_its_neighbours() -> None:
    store = Store()
    store.free.set()
    answers: Sequence[Any] = await asyncio.gather(*map(Coalescer(store.take).put, (1, 0, 2)), return_exceptions=True)
    assert (answers[0], answers[2], type(answers[1])) == (-1, -2, ZeroDivisionError)


async def test_a_store_that_is_away_is_not_asked_once_more_for_each() -> None:
    store = Store()
    store.free.set()
    coalescer = Coalescer(store.take)
    answers = await asyncio.gather(*map(coalescer.put, (13, 1)), return_exceptions=True)
    assert {type(answer) for answer in answers} == {StoreUnavailable}
    assert len(store.batches) == 1
    assert await coalescer.put(7) == -7


async def test_whoever_stops_waiting_does_not_disturb_the_others() -> None:
    store = Store()
    coalescer = Coalescer(store.take)
    impatient, patient = (asyncio.create_task(coalescer.put(number)) for number in (1, 2))
    await asyncio.sleep(0)
    impatient.cancel()
    store.free.set()
    assert await patient == -2
    assert store.batches == [[1, 2]]
