"""The `Rows` port of the Cassandra adapter: what every protocol of that adapter takes for granted of a cluster."""

import asyncio
from collections.abc import Sequence
from uuid import UUID, uuid4

import pytest

from mainspring.adapters.cassandra.rows import ALL, MOST_BYTES, MOST_CHANGES, Change, Key, Put, Row, Rows, Span, only
from mainspring.adapters.cassandra.tables import API_KEY, DUE, LOCK, OUTPUT, OWNER, RUN, SETTING

FIRST, SECOND, THIRD = (UUID(f"0190000{number}-0000-7000-8000-000000000000") for number in (1, 2, 3))


class RowsContract:
    """All that is asked of `Rows`; an adapter gives `rows`. Every test keeps to partitions of its own."""

    @pytest.fixture
    async def rows(self) -> Rows:
        """Rows with all tables of the adapter."""
        raise NotImplementedError("the adapter's fixtures come first among the bases")

    @pytest.fixture
    def home(self) -> Key:
        """A partition of runs."""
        return uuid4().int % 1000, uuid4().int % 2**40

    @pytest.fixture
    def queue(self) -> Key:
        """A partition of the index of waiting runs."""
        return 0, uuid4().hex, 0

    @pytest.fixture
    def name(self) -> str:
        """The key of a table that has one row to a partition."""
        return uuid4().hex

    async def test_a_row_comes_back_with_its_keys_and_none_for_what_was_never_written(
        self, rows: Rows, home: Key
    ) -> None:
        await rows.put([_run(home, FIRST, owner="ada", fence=0)])
        (row,) = await rows.get(RUN, home, [(FIRST,)])
        assert dict(row) == {**dict.fromkeys([*RUN.columns]), **_place(home, FIRST), "owner": "ada", "fence": 0}

    async def test_values_come_back_as_they_were(self, rows: Rows) -> None:
        run_id = uuid4()
        values: Row = {
            "head": b"\x00\xff",
            "tail": b"",
            "length": -(2**62),
            "progress": 0.1,
            "message": "a\x00 \N{SNOWMAN} 'quoted'",
        }
        await rows.put([Put(table=OUTPUT, row={"run_id": run_id, "fence": -(2**31), **values})])
        (row,) = await rows.get(OUTPUT, (run_id,), [(-(2**31),)])
        assert {name: row[name] for name in values} == values

    async def test_a_row_of_nothing_but_its_key_exists(self, rows: Rows, home: Key) -> None:
        await rows.put([_run(home, FIRST)])
        assert [row["id"] for row in await rows.get(RUN, home, [(FIRST,)])] == [FIRST]

    async def test_rows_are_read_in_the_order_of_their_keys_however_they_are_asked_for(
        self, rows: Rows, home: Key
    ) -> None:
        await rows.put([_run(home, THIRD), _run(home, FIRST)])
        assert _ids(await rows.get(RUN, home, [(THIRD,), (SECOND,), (FIRST,)])) == [FIRST, THIRD]
        assert not await rows.get(RUN, home, [])

    async def test_rows_with_long_keys_are_found_by_them(self, rows: Rows, queue: Key) -> None:
        await rows.put([_due(queue, 1, FIRST), _due(queue, 2, SECOND), _due(queue, 2, THIRD)])
        found = await rows.get(DUE, queue, [(2, THIRD, 0), (1, FIRST, 0), (1, SECOND, 0)])
        assert _ids(found) == [FIRST, THIRD]

    async def test_a_table_with_one_row_to_a_partition_needs_no_key(self, rows: Rows, name: str) -> None:
        assert not await rows.get(SETTING, (name,))
        await rows.put([Put(table=SETTING, row={"name": name, "value": "1"}, original=True)])
        (row,) = await rows.get(SETTING, (name,))
        assert dict(row) == {"name": name, "value": "1"}
        assert [dict(row) for row in await rows.slice(SETTING, (name,), limit=1)] == [{"name": name, "value": "1"}]

    async def test_under_an_empty_name_there_is_nothing(self, rows: Rows) -> None:
        assert not await rows.get(SETTING, ("",))
        assert not await rows.slice(SETTING, ("",), limit=1)

    async def test_ids_are_ordered_by_version_and_then_by_their_bytes(self, rows: Rows, queue: Key) -> None:
        fourth = UUID("ffffffff-ffff-4fff-bfff-ffffffffffff")
        await rows.put([_due(queue, 1, identity) for identity in (THIRD, FIRST, fourth, SECOND)])
        assert _ids(await rows.slice(DUE, queue, limit=9)) == [fourth, FIRST, SECOND, THIRD]

    async def test_a_column_that_is_left_out_keeps_its_value(self, rows: Rows, home: Key) -> None:
        await rows.put([_run(home, FIRST, owner="ada", project="engine")])
        await rows.put([_run(home, FIRST, owner="grace", project=None)])
        (row,) = await rows.get(RUN, home, [(FIRST,)])
        assert (row["owner"], row["project"]) == ("grace", "engine")

    async def test_many_rows_of_many_partitions_are_written_at_once(self, rows: Rows, queue: Key) -> None:
        queues = [(shard, queue[1], queue[2]) for shard in range(5)]
        await rows.put([_due(queues[number % 5], number, FIRST) for number in range(1500)])
        assert [len(await rows.slice(DUE, queue, limit=1000)) for queue in queues] == [300] * 5

    async def test_large_rows_of_one_partition_are_written_at_once(self, rows: Rows, home: Key) -> None:
        ids = [uuid4() for _ in range(30)]
        await rows.put([_run(home, identity, payload=b"x" * 4096, original=True) for identity in ids])
        assert len(await rows.get(RUN, home, [(identity,) for identity in ids])) == 30

    # --- slices

    @pytest.mark.parametrize(
        ("span", "expected"),
        [
            (ALL, [10, 11, 20, 21, 30]),
            (Span(first=(2,)), [20, 21, 30]),
            (Span(after=(2,)), [30]),
            (Span(last=(2,)), [10, 11, 20, 21]),
            (Span(before=(2,)), [10, 11]),
            (Span(first=(2,), last=(2,)), [20, 21]),
            (Span(first=(1,), before=(3,)), [10, 11, 20, 21]),
            (Span(first=(1, SECOND)), [11, 20, 21, 30]),
            (Span(after=(1, FIRST)), [11, 20, 21, 30]),
            (Span(after=(1, FIRST, 0), last=(2, FIRST, 0)), [11, 20]),
            (Span(after=(1, FIRST), before=(3,)), [11, 20, 21]),
            (Span(first=(1,), last=(2, FIRST)), [10, 11, 20]),
            (Span(after=(2, FIRST), last=(2,)), [21]),
            (Span(first=(2,), before=(2, SECOND)), [20]),
            (only((2, SECOND, 0)), [21]),
            (Span(first=(4,)), []),
        ],
        ids=str,
    )
    async def test_a_slice_has_what_lies_in_its_span(
        self, rows: Rows, queue: Key, span: Span, expected: Sequence[int]
    ) -> None:
        await rows.put(_five(queue))
        assert _numbers(await rows.slice(DUE, queue, span, limit=9)) == expected
        assert _numbers(await rows.slice(DUE, queue, span, limit=9, backwards=True)) == expected[::-1]

    async def test_a_slice_has_no_more_than_its_limit(self, rows: Rows, queue: Key) -> None:
        await rows.put(_five(queue))
        assert _numbers(await rows.slice(DUE, queue, limit=2)) == [10, 11]
        assert _numbers(await rows.slice(DUE, queue, limit=2, backwards=True)) == [30, 21]
        assert _numbers(await rows.slice(DUE, queue, limit=0)) == []

    async def test_a_long_slice_comes_whole(self, rows: Rows, queue: Key) -> None:
        await rows.put([_due(queue, number, FIRST) for number in range(6000)])
        assert len(await rows.slice(DUE, queue, limit=6000)) == 6000

    async def test_text_is_ordered_by_its_bytes(self, rows: Rows) -> None:
        everything = uuid4().int % 2**31
        owners = ["a", "Z", "\N{SNOWMAN}", "\U0001f980", "\u00e9"]
        await rows.put(
            [Put(table=OWNER, row={"everything": everything, "owner": owner, "month": 1}) for owner in owners]
        )
        found = [row["owner"] for row in await rows.slice(OWNER, (everything,), limit=9)]
        assert found == sorted(owners, key=str.encode)

    # --- deletions

    @pytest.mark.parametrize(
        ("span", "left"),
        [
            (ALL, []),
            (only((1, FIRST, 0)), [11, 20, 21, 30]),
            (Span(before=(2,)), [20, 21, 30]),
            (Span(last=(2,)), [30]),
            (Span(first=(1,), last=(1,)), [20, 21, 30]),
            (Span(first=(1, FIRST), last=(2, FIRST)), [21, 30]),
            (Span(after=(2, FIRST, 0)), [10, 11, 20]),
        ],
        ids=str,
    )
    async def test_a_deletion_takes_what_lies_in_its_span(
        self, rows: Rows, queue: Key, span: Span, left: Sequence[int]
    ) -> None:
        await rows.put(_five(queue))
        await rows.delete_range(DUE, queue, span)
        assert _numbers(await rows.slice(DUE, queue, limit=9)) == left

    async def test_a_deletion_spares_what_was_written_since(self, rows: Rows, queue: Key) -> None:
        await rows.put([_due(queue, 1, FIRST)])
        await rows.delete_range(DUE, queue, until=1_000_000)
        assert len(await rows.slice(DUE, queue, limit=9)) == 1

    async def test_what_was_deleted_can_be_written_again_plainly(self, rows: Rows, queue: Key) -> None:
        await rows.put([_due(queue, 1, FIRST)])
        await rows.delete_range(DUE, queue)
        await rows.put([_due(queue, 1, FIRST)])
        assert len(await rows.slice(DUE, queue, limit=9)) == 1

    async def test_what_was_deleted_never_comes_back_as_original(self, rows: Rows, home: Key) -> None:
        await rows.put([_run(home, FIRST, fence=0, original=True)])
        await rows.delete_range(RUN, home)
        await rows.put([_run(home, FIRST, fence=0, original=True)])
        assert not await rows.get(RUN, home, [(FIRST,)])

    async def test_a_deletion_takes_what_was_decided_too(self, rows: Rows, name: str) -> None:
        assert await rows.cas_batch(LOCK, (name,), [Change(key=(), values={"fence": 1})]) is None
        await rows.delete_range(LOCK, (name,))
        assert not await rows.get(LOCK, (name,), settled=True)

    # --- decisions

    async def test_a_row_is_made_once(self, rows: Rows, name: str) -> None:
        first = Change(key=(), values={"holder": "ada", "fence": 1})
        assert await rows.cas_batch(LOCK, (name,), [first]) is None
        refusal = await rows.cas_batch(LOCK, (name,), [Change(key=(), values={"holder": "grace", "fence": 2})])
        assert refusal is not None
        (row,) = refusal
        assert (row["name"], row["holder"], row["fence"]) == (name, "ada", 1)

    async def test_a_change_needs_every_column_to_be_as_expected(self, rows: Rows, home: Key) -> None:
        await rows.put([_run(home, FIRST, fence=3, state=1, original=True)])
        wrong = Change(key=(FIRST,), values={"fence": 4}, expected={"fence": 3, "state": 0})
        refusal = await rows.cas_batch(RUN, home, [wrong])
        assert refusal is not None
        assert [(row["id"], row["fence"], row["state"]) for row in refusal] == [(FIRST, 3, 1)]
        right = Change(key=(FIRST,), values={"fence": 4}, expected={"fence": 3, "state": 1})
        assert await rows.cas_batch(RUN, home, [right]) is None
        (row,) = await rows.get(RUN, home, [(FIRST,)])
        assert (row["fence"], row["state"]) == (4, 1)

    async def test_a_batch_is_applied_whole_or_not_at_all(self, rows: Rows, home: Key) -> None:
        await rows.put([_run(home, identity, fence=0, original=True) for identity in (FIRST, SECOND)])
        changes = [
            Change(key=(FIRST,), values={"fence": 1}, expected={"fence": 0}),
            Change(key=(SECOND,), values={"fence": 1}, expected={"fence": 7}),
        ]
        refusal = await rows.cas_batch(RUN, home, changes)
        assert refusal is not None
        assert {row["id"]: row["fence"] for row in refusal} == {FIRST: 0, SECOND: 0}
        assert [row["fence"] for row in await rows.get(RUN, home, [(FIRST,), (SECOND,)])] == [0, 0]

    async def test_a_missing_row_is_not_among_those_that_a_refusal_shows(self, rows: Rows, home: Key) -> None:
        await rows.put([_run(home, FIRST, fence=0, original=True)])
        changes = [Change(key=(identity,), values={"fence": 1}, expected={"fence": 0}) for identity in (SECOND, FIRST)]
        refusal = await rows.cas_batch(RUN, home, changes)
        assert refusal is not None
        assert _ids(refusal) == [FIRST]
        assert await rows.cas_batch(RUN, home, changes[:1]) == []

    async def test_a_missing_row_has_none_in_each_column_and_is_made_by_a_change(self, rows: Rows, name: str) -> None:
        made = Change(key=(), values={"fence": 1}, expected={"fence": None, "holder": None})
        assert await rows.cas_batch(LOCK, (name,), [made]) is None
        (row,) = await rows.get(LOCK, (name,), settled=True)
        assert row["fence"] == 1

    async def test_none_takes_a_value_away_and_can_be_expected(self, rows: Rows, name: str) -> None:
        await rows.cas_batch(LOCK, (name,), [Change(key=(), values={"holder": "ada", "fence": 1})])
        freed = Change(key=(), values={"holder": None}, expected={"holder": "ada"})
        assert await rows.cas_batch(LOCK, (name,), [freed]) is None
        taken = Change(key=(), values={"holder": "grace"}, expected={"holder": None, "fence": 1})
        assert await rows.cas_batch(LOCK, (name,), [taken]) is None

    async def test_a_row_that_no_insert_made_vanishes_with_its_last_value(self, rows: Rows, name: str) -> None:
        await rows.cas_batch(LOCK, (name,), [Change(key=(), values={"fence": 1}, expected={"fence": None})])
        await rows.cas_batch(LOCK, (name,), [Change(key=(), values={"fence": None}, expected={"fence": 1})])
        assert not await rows.get(LOCK, (name,))

    async def test_rows_can_be_made_and_changed_together(self, rows: Rows, home: Key) -> None:
        await rows.put([_run(home, FIRST, fence=0, original=True)])
        changes = [
            Change(key=(FIRST,), values={"fence": 1}, expected={"fence": 0}),
            Change(key=(SECOND,), values={"fence": 5}),
        ]
        assert await rows.cas_batch(RUN, home, changes) is None
        refusal = await rows.cas_batch(RUN, home, changes)
        assert refusal is not None
        assert {row["id"]: row["fence"] for row in refusal} == {FIRST: 1, SECOND: 5}

    async def test_a_row_can_be_compared_without_being_changed(self, rows: Rows, home: Key) -> None:
        await rows.put([_run(home, identity, fence=0, original=True) for identity in (FIRST, SECOND)])
        compared = Change(key=(SECOND,), values={}, expected={"fence": 0})
        changed = Change(key=(FIRST,), values={"fence": 1}, expected={"fence": 0})
        assert await rows.cas_batch(RUN, home, [changed, compared]) is None
        assert [row["fence"] for row in await rows.get(RUN, home, [(FIRST,), (SECOND,)])] == [1, 0]

    async def test_what_is_written_as_original_never_undoes_a_decision(self, rows: Rows, home: Key) -> None:
        await rows.put([_run(home, FIRST, owner="ada", fence=0, state=0, original=True)])
        await rows.cas_batch(RUN, home, [Change(key=(FIRST,), values={"fence": 1}, expected={"fence": 0})])
        await rows.put([_run(home, FIRST, owner="ada", fence=0, state=0, original=True)])
        (row,) = await rows.get(RUN, home, [(FIRST,)])
        assert (row["fence"], row["state"], row["owner"]) == (1, 0, "ada")

    async def test_a_batch_may_be_as_large_as_is_promised(self, rows: Rows, home: Key) -> None:
        ids = [uuid4() for _ in range(MOST_CHANGES)]
        await rows.put([_run(home, identity, fence=0, original=True) for identity in ids])
        result = b"x" * (MOST_BYTES // MOST_CHANGES)
        values: Row = {"fence": 1, "result": result}
        changes = [Change(key=(identity,), values=values, expected={"fence": 0}) for identity in ids]
        assert await rows.cas_batch(RUN, home, changes) is None
        refusal = await rows.cas_batch(RUN, home, changes)
        assert refusal is not None
        assert {row["id"]: row["fence"] for row in refusal} == dict.fromkeys(ids, 1)

    async def test_of_many_who_decide_at_once_one_succeeds(self, rows: Rows, name: str) -> None:
        await rows.cas_batch(LOCK, (name,), [Change(key=(), values={"fence": 0})])

        async def advance(holder: int) -> bool:
            change = Change(key=(), values={"fence": 1, "holder": str(holder)}, expected={"fence": 0})
            return await rows.cas_batch(LOCK, (name,), [change]) is None

        won = await asyncio.gather(*(advance(holder) for holder in range(8)))
        assert won.count(True) == 1
        (row,) = await rows.get(LOCK, (name,), settled=True)
        assert row["holder"] == str(won.index(True))

    async def test_settled_reads_take_many_keys(self, rows: Rows, home: Key) -> None:
        await rows.put([_run(home, identity, fence=0, original=True) for identity in (FIRST, SECOND, THIRD)])
        assert _ids(await rows.get(RUN, home, [(FIRST,), (THIRD,)], settled=True)) == [FIRST, THIRD]

    async def test_a_plain_column_can_be_written_beside_decided_ones(self, rows: Rows) -> None:
        everything = uuid4().int % 2**31
        await rows.put([Put(table=API_KEY, row={"everything": everything, "id": FIRST, "owner": "ada"})])
        (row,) = await rows.slice(API_KEY, (everything,), limit=1)
        assert (row["id"], row["owner"], row["revoked_at"]) == (FIRST, "ada", None)


def _run(home: Key, identity: UUID, *, original: bool = False, **values: object) -> Put:
    # A conditional column may be written plainly only as original.
    original = original or bool(RUN.conditional & {name for name, value in values.items() if value is not None})
    return Put(table=RUN, row={**_place(home, identity), **values}, original=original)  # type: ignore[dict-item]  # values of several kinds


def _place(home: Key, identity: UUID) -> Row:
    return {"shard": home[0], "slot": home[1], "id": identity}


def _due(queue: Key, wake_at: int, identity: UUID, priority: int = 0) -> Put:
    shard, lane, slot = queue
    row: Row = {"shard": shard, "lane": lane, "slot": slot, "wake_at": wake_at, "id": identity, "fence": 0}
    return Put(table=DUE, row={**row, "priority": priority})


def _five(queue: Key) -> Sequence[Put]:
    """Five rows, known by their priorities."""
    places = ((1, FIRST, 10), (1, SECOND, 11), (2, FIRST, 20), (2, SECOND, 21), (3, FIRST, 30))
    return [_due(queue, wake_at, identity, priority) for wake_at, identity, priority in places]


def _ids(rows: Sequence[Row]) -> Sequence[object]:
    return [row["id"] for row in rows]


def _numbers(rows: Sequence[Row]) -> Sequence[object]:
    return [row["priority"] for row in rows]
