"""What is stored for a request, decided without a server or a store."""

import asyncio
import json
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any
from unittest.mock import AsyncMock

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mainspring.adapters.system.chance import SystemRandom
from mainspring.adapters.system.clock import SystemClock
from mainspring.api.caller import labelled
from mainspring.api.composing import compose, with_blob
from mainspring.api.document import Document, Raw, read_object, write_json
from mainspring.api.lanes import Lanes
from mainspring.api.quota import Quota
from mainspring.api.rendering import stored_text
from mainspring.api.representation import shown_job
from mainspring.api.requests import InvalidFields
from mainspring.api.stored import stored_record
from mainspring.api.submission import MAX_INLINE, Submission, Submissions
from mainspring.domain.ids import BlobId, Lane, RunId, moment_of
from mainspring.domain.job import CatchUp, Misfire, NewJob, Overlap, Terms
from mainspring.domain.run import NewRun
from mainspring.errors import HandlerOff, Invalid, InvalidSchedule, KeyConflict, UnknownHandler
from mainspring.ports.work import Added, Addition, Note

NOW = datetime(2030, 1, 1, 12, 0, tzinfo=UTC)
LANE = Lane("lane")
ANYBODY = labelled(None).check_handler
"""Passes every handler: an open API has nobody to refuse."""

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda values: st.lists(values, max_size=4) | st.dictionaries(st.text(), values, max_size=4),
    max_leaves=12,
)


def submission(owner: str | None = None, key: str | None = None, **fields: Any) -> Submission:
    return Submission.read(json.dumps({"handler": "test.echo", **fields}).encode(), owner=owner, key=key)


def composed(**fields: Any) -> NewRun | NewJob:
    read = submission(**fields)
    return compose(read.pattern, payload=read.payload, owner=read.owner, key=None, lane=LANE, now=NOW, random_bits=42)


def one_shot(**fields: Any) -> NewRun:
    item = composed(**fields)
    assert isinstance(item, NewRun)
    return item


def standing(**fields: Any) -> NewJob:
    item = composed(**fields)
    assert isinstance(item, NewJob)
    return item


@pytest.mark.parametrize(
    ("schedule", "due"),
    [
        (None, timedelta(0)),
        ("NOW", timedelta(0)),
        ("in 90s", timedelta(seconds=90)),
        ("2030-06-01T00:00:00+02:00", datetime(2030, 5, 31, 22, tzinfo=UTC)),
    ],
)
def test_a_schedule_that_fires_once_makes_a_run(schedule: str | None, due: datetime | timedelta) -> None:
    run = one_shot(schedule=schedule, name="once")
    assert (run.due, run.name, run.task.lane, run.id) == (due, "once", LANE, RunId(run.job_id))
    assert moment_of(run.id) == NOW


def test_a_run_carries_a_specification_only_if_it_needs_one() -> None:
    assert one_shot(name="plain").spec is None
    spec = one_shot(schedule="in 90s", description="why").spec
    assert spec is not None
    assert Terms.from_json(spec) == Terms(schedule="in 90s", description="why")
    spec = one_shot(description="why").spec
    assert spec is not None
    assert Terms.from_json(spec).schedule == "now"


@pytest.mark.parametrize(
    ("schedule", "first"),
    [("0 6 * * *", datetime(2030, 1, 2, 6, tzinfo=UTC)), ("@every 90s", NOW + timedelta(seconds=90))],
)
def test_a_schedule_that_recurs_makes_a_standing_job(schedule: str, first: datetime) -> None:
    job = standing(schedule=f"  {schedule}  ").job
    assert (job.terms.schedule, job.next_fire_at, job.wake_at) == (schedule, first, first)


def test_a_job_on_demand_has_no_moment() -> None:
    job = standing(schedule="on-demand").job
    assert (job.next_fire_at, job.wake_at) == (None, None)


def test_a_recurring_job_begins_at_its_start() -> None:
    job = standing(schedule="@every 1h", starts_at="2030-03-01T00:00:00Z").job
    assert job.next_fire_at == job.terms.starts_at == datetime(2030, 3, 1, tzinfo=UTC)


def test_exceptions_to_the_rule_are_kept() -> None:
    terms = standing(schedule="@hourly", overlap="replace", misfire={"grace_ms": 5, "policy": "none"}).job.terms
    assert terms.overlap is Overlap.REPLACE
    assert terms.misfire == Misfire(grace=timedelta(milliseconds=5), policy=CatchUp.NONE)


def test_a_payload_lies_inline_or_in_a_blob() -> None:
    assert one_shot(payload=[1]).task.payload == b"[1]"
    assert one_shot().task.payload == b"null"
    for item in (with_blob(one_shot(payload=[1]), BlobId("b")), with_blob(standing(schedule="@daily"), BlobId("b"))):
        task = item.task if isinstance(item, NewRun) else item.job.task
        assert (task.payload, task.blob) == (b"", BlobId("b"))


def test_bodies_that_mean_the_same_have_one_digest() -> None:
    first = submission(payload={"a": 1, "b": [2]}, key="k", priority=50)
    assert first.digest == submission(payload={"b": [2], "a": 1}).digest
    assert first.digest != submission(payload={"a": 1, "b": [3]}).digest
    assert first.digest != submission(payload={"a": 1, "b": [2]}, priority=51).digest


def test_owner_and_key_may_stand_in_the_body_or_beside_it_but_must_agree() -> None:
    beside = submission(owner="o", key="k")
    assert (beside.owner, beside.key) == ("o", "k")
    assert Submission.read(b'{"handler":"h","owner":"o","jobId":"k"}').key == "k"
    assert Submission.read(b'{"handler":"h"}').owner == "default"
    with pytest.raises(Invalid, match="send one of them"):
        Submission.read(b'{"handler":"h","key":"a"}', key="b")


def test_an_invalid_schedule_says_where() -> None:
    with pytest.raises(InvalidSchedule) as refused:
        composed(schedule="61 * * * *")
    assert (refused.value.part, refused.value.position) == ("61", 0)


def taken_as(kind: Addition) -> Callable[..., Sequence[Added]]:
    """A store's answer to whatever is added."""

    def add(items: Sequence[NewRun], *, note: Note) -> Sequence[Added]:
        answers = [Added(kind, item.id, NOW) for item in items]
        note(answers)
        return answers

    return add


@pytest.fixture
def store() -> AsyncMock:
    store = AsyncMock()
    store.handlers.return_value = {"registered": Lane("its own")}
    store.put.return_value = BlobId("blob")
    store.add.side_effect = taken_as(Addition.CREATED)
    return store


@pytest.fixture
def submissions(store: AsyncMock) -> Submissions:
    return Submissions(
        work=store,
        views=store,
        blobs=store,
        clock=SystemClock(),
        random=SystemRandom(),
        quota=Quota(0, store, SystemClock()),
        lanes=Lanes(store, SystemClock(), builtin={"test.echo": Lane("default")}),
    )


async def test_a_large_payload_is_stored_before_the_run_that_names_it(
    submissions: Submissions, store: AsyncMock
) -> None:
    await submissions.submit(submission(payload="x" * (MAX_INLINE - 2)), ANYBODY)
    store.put.assert_not_awaited()
    await submissions.submit(submission(payload="x" * (MAX_INLINE - 1)), ANYBODY)
    [item] = store.add.await_args.args[0]
    assert (item.task.blob, item.task.payload) == (BlobId("blob"), b"")
    assert [call[0] for call in store.mock_calls][-2:] == ["put", "add"]


async def test_a_large_batch_is_stored_while_the_next_is_read(submissions: Submissions, store: AsyncMock) -> None:
    steps: list[str] = []

    def batch(name: str, size: int) -> Iterator[Document]:
        for _ in range(size):
            steps.append(name)
            yield Document({"handler": "test.echo"}, None)

    def stored(items: Sequence[NewRun], **_: object) -> Sequence[Added]:
        steps.append(f"{len(items)} stored")
        return [Added(Addition.CREATED, item.id, NOW) for item in items]

    store.add.side_effect = stored
    sizes = {"first": 3_000, "second": 2_000, "small": 900}
    await asyncio.gather(*(submissions.submit_all(batch(name, size), None, ANYBODY) for name, size in sizes.items()))
    last = {name: len(steps) - steps[::-1].index(name) for name in sizes}
    assert steps.index("3000 stored") < last["second"]
    assert last["small"] < last["first"]


async def test_a_handler_has_its_lane_unless_the_job_says_otherwise(submissions: Submissions, store: AsyncMock) -> None:
    for fields, lane in (
        ({"handler": "registered"}, "its own"),
        ({"handler": "registered", "lane": "other"}, "other"),
        ({"handler": "test.echo"}, "default"),
        ({"handler": "nobody", "allow_unknown_handler": True}, "default"),
    ):
        await submissions.submit(submission(**fields), ANYBODY)
        [item] = store.add.await_args.args[0]
        assert item.task.lane == lane


async def test_a_handler_that_is_mistyped_is_answered_with_the_one_that_was_meant(submissions: Submissions) -> None:
    with pytest.raises(UnknownHandler, match=r"did you mean 'test\.echo'"):
        await submissions.submit(submission(handler="test.ecko"), ANYBODY)
    with pytest.raises(UnknownHandler, match="set allow_unknown_handler"):
        await submissions.submit(submission(handler="nothing like it"), ANYBODY)


async def test_a_handler_that_came_a_moment_ago_is_known(submissions: Submissions, store: AsyncMock) -> None:
    with pytest.raises(UnknownHandler):
        await submissions.submit(submission(handler="new"), ANYBODY)
    store.handlers.return_value = {"new": Lane("default")}
    assert (await submissions.submit(submission(handler="new"), ANYBODY)).created


class TestHandlersThatSettingsSwitchOff:
    """What the store says of workers decides, and what a process believed a moment ago never refuses anything."""

    @pytest.fixture
    def submissions(self, store: AsyncMock) -> Submissions:
        clock = SystemClock()
        lanes = Lanes(
            store,
            clock,
            builtin=dict.fromkeys(("test.echo", "shell.script"), Lane("default")),
            switchable={"shell.script": "it is off"},
            sessions=store,
        )
        return Submissions(
            work=store,
            views=store,
            blobs=store,
            clock=clock,
            random=SystemRandom(),
            quota=Quota(0, store, clock),
            lanes=lanes,
        )

    async def test_one_that_every_live_worker_has_off_is_refused(
        self, submissions: Submissions, store: AsyncMock
    ) -> None:
        store.live.return_value = [object()]
        with pytest.raises(HandlerOff, match="it is off"):
            await submissions.submit(submission(handler="shell.script"), ANYBODY)
        with pytest.raises(InvalidFields) as refused:
            await submissions.submit_all([Document({"handler": "shell.script"}, None)], None, ANYBODY)
        assert refused.value.faults == {"jobs.0.handler": "it is off"}
        assert (await submissions.submit(submission(handler="test.echo"), ANYBODY)).created
        assert (
            await submissions.submit(submission(handler="shell.script", allow_unknown_handler=True), ANYBODY)
        ).created

    async def test_without_workers_it_is_accepted(self, submissions: Submissions, store: AsyncMock) -> None:
        store.live.return_value = []
        assert (await submissions.submit(submission(handler="shell.script"), ANYBODY)).created

    async def test_one_that_an_absent_worker_had_is_accepted(self, submissions: Submissions, store: AsyncMock) -> None:
        store.live.return_value = [object()]
        store.handlers.return_value = {"shell.script": Lane("default")}
        assert (await submissions.submit(submission(handler="shell.script"), ANYBODY)).created

    async def test_one_that_a_worker_has_since_a_moment_is_accepted(
        self, submissions: Submissions, store: AsyncMock
    ) -> None:
        store.live.return_value = [object()]
        with pytest.raises(HandlerOff):
            await submissions.submit(submission(handler="shell.script"), ANYBODY)
        store.handlers.return_value = {"shell.script": Lane("default")}
        assert (await submissions.submit(submission(handler="shell.script"), ANYBODY)).created


async def test_a_key_that_stands_for_another_body_is_a_conflict(submissions: Submissions, store: AsyncMock) -> None:
    store.add.side_effect = taken_as(Addition.CONFLICT)
    with pytest.raises(KeyConflict, match="choose another key"):
        await submissions.submit(submission(key="k"), ANYBODY)


@given(st.dictionaries(st.text() | st.just("payload"), VALUES, max_size=5), st.sampled_from([None, 1, "\t"]))
def test_every_object_is_read_with_its_payload_as_it_was_written(value: dict[str, Any], indent: Any) -> None:
    for ascii_only in (True, False):
        document = read_object(json.dumps(value, indent=indent, ensure_ascii=ascii_only).encode())
        assert document.fields == value
        assert (document.payload is None) is ("payload" not in value)
        assert document.payload is None or json.loads(document.payload) == value["payload"]


@given(
    VALUES,
    st.sampled_from([None, "in 5s", "2030-06-01T00:00:00Z", "@daily", "on-demand"]),
    st.fixed_dictionaries(
        {},
        optional={
            "name": st.text(st.characters(exclude_categories=["Cc", "Cs"]), max_size=5),
            "description": st.text(max_size=5),
            "priority": st.integers(0, 100),
            "retry": st.fixed_dictionaries({"jitter": st.floats(0, 1)}),
            "overlap": st.sampled_from(["skip", "wait"]),
            "timeout_ms": st.integers(1, 1000),
        },
    ),
)
def test_a_new_job_is_written_as_it_will_be_shown(payload: Any, schedule: str | None, fields: dict[str, Any]) -> None:
    text = json.dumps(payload).encode()
    item = composed(payload=payload, schedule=schedule, **fields)
    pattern = submission(schedule=schedule, **fields).pattern
    assert stored_text(item, NOW, text, pattern) == write_json(shown_job(stored_record(item, NOW), text))


@given(VALUES)
def test_what_is_written_is_json_with_raw_texts_as_they_are(value: Any) -> None:
    document = {"plain": [1, "ü", None], "raw": Raw(json.dumps(value, indent=3).encode())}
    assert json.loads(write_json(document)) == {"plain": [1, "ü", None], "raw": value}


def test_what_is_equal_to_an_integer_is_not_taken_for_one_that_came_before() -> None:
    assert submission(priority=1).pattern is submission(priority=1, payload=2, key="k").pattern
    with pytest.raises(Invalid, match="priority"):
        submission(priority=True)
    assert repr(submission(priority=1.0).pattern.request.priority) == "1"


@pytest.mark.parametrize("key", ["", "x" * 201, "a\nb", "a\x7f", 7, True, ["k"]])
def test_a_key_is_checked_even_if_the_rest_was_seen_before(key: Any) -> None:
    submission()
    with pytest.raises(Invalid, match="key"):
        Submission.read(json.dumps({"handler": "test.echo", "key": key}).encode())


def test_two_names_for_a_key_are_one_too_many() -> None:
    with pytest.raises(Invalid, match="jobId"):
        Submission.read(b'{"handler":"h","key":"a","jobId":"a"}')


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (b"1e400", b"1e500"),
        (b"1e400", b"-1e400"),
        (b"1e-400", b"0.0"),
        (b"1e-99999999999999999999", b"0.0"),
        (b"12345678901234567.1", b"12345678901234567.2"),
        (b'[{"a":0.1}]', b'[{"a":0.1000000000000000000001}]'),
    ],
)
def test_numbers_that_a_float_cannot_tell_apart_are_other_bodies(one: bytes, other: bytes) -> None:
    digests = {Submission.read(b'{"handler":"h","payload":' + text + b"}").digest for text in (one, other)}
    assert len(digests) == 2


def test_bodies_that_mean_the_same_have_the_same_digest() -> None:
    same = [
        b'{"handler":"h","payload":{"a":1,"b":[2.50]}}',
        b'{"payload":{"b":[2.5],"a":1},"handler":"h","priority":50}',
        b'{"handler":"h","jobId":"k","payload":{"a":1,"b":[2.5]},"retry":{"kind":"exponential"}}',
    ]
    other = [
        b'{"handler":"h","payload":{"a":1,"b":[2]}}',
        b'{"handler":"h"}',
        b'{"handler":"h","payload":{"a":1,"b":[2.5]},"priority":51}',
    ]
    digests = [Submission.read(text).digest for text in same]
    assert len(set(digests)) == 1
    assert len({digests[0], *(Submission.read(text).digest for text in other)}) == 4
