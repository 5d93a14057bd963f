"""What all processes have done together, and the folding of pages that are never written again.

A fold moves pages of the ledger into the total of their group by one compare-and-set that also names them, and removes
them afterwards. Whoever reads passes over pages that a total names, so that nothing is counted twice before they are
gone; they stay named until the next fold, which removes them once more before it names others. So every page is counted
once, wherever a process that folds is stopped, and however many fold at the same time.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from uuid import UUID

from mainspring.adapters.cassandra.abreast import abreast
from mainspring.adapters.cassandra.context import Context
from mainspring.adapters.cassandra.layout import EVERYTHING, span_of
from mainspring.adapters.cassandra.ledger import PAGE_LASTS, TALLY_PARTS, Group, Totals, tally_part
from mainspring.adapters.cassandra.rows import ALL, Change, Key, Row, Rows, Span, only
from mainspring.adapters.cassandra.table import Table
from mainspring.adapters.cassandra.tables import TALLY, TOTAL
from mainspring.adapters.cassandra.values import identity, number, text
from mainspring.domain.ids import Lane
from mainspring.domain.run import Origin

CLOSED = PAGE_LASTS + timedelta(hours=1)
"""A page that was last written this long ago is complete, by any clock that is less than an hour off."""

_CHUNK = 1_000


@dataclass(frozen=True, slots=True)
class _Total:
    """The row of a group: what was folded into it, and which pages came last."""

    totals: Totals
    pages: Sequence[UUID]
    row: Row | None

    def expected(self) -> Row | None:
        return None if self.row is None else {name: self.row[name] for name in ("figures", "folded")}


_NOTHING = _Total(Totals(), (), None)


async def read_totals(rows: Rows) -> Mapping[Group, Totals]:
    """Everything that ever happened, by group."""
    while True:
        before = await _folded(rows)
        pages = await _pages(rows)
        after = await _folded(rows)
        if before == after:
            break  # otherwise pages may have moved between the two reads
    found = {group: total.totals for group, total in after.items()}
    for page in pages:
        group = _group(page)
        if identity(page, "process") not in after.get(group, _NOTHING).pages:
            found[group] = found.get(group, Totals()).plus(Totals.from_json(text(page, "figures")))
    return found


async def fold(context: Context, limit: int) -> int:
    """Fold at most so many pages into their totals; return how many were."""
    # Totals first: whatever they have forgotten to name was removed before they were written.
    totals = await _folded(context.rows)
    closed = context.now() - span_of(CLOSED)
    by_group: dict[Group, list[Row]] = {}
    for page in await _pages(context.rows):
        group = _group(page)
        if number(page, "at") < closed and identity(page, "process") not in totals.get(group, _NOTHING).pages:
            by_group.setdefault(group, []).append(page)
    folded = 0
    for group, pages in by_group.items():
        if folded < limit:
            folded += await _fold(context.rows, group, totals.get(group, _NOTHING), pages[: limit - folded])
    return folded


async def _fold(rows: Rows, group: Group, total: _Total, pages: Sequence[Row]) -> int:
    await _remove(rows, group, total.pages)
    sum_ = total.totals
    for page in pages:
        sum_ = sum_.plus(Totals.from_json(text(page, "figures")))
    ids = [identity(page, "process") for page in pages]
    values: Row = {"figures": sum_.to_json(), "folded": json.dumps([page_id.hex for page_id in ids])}
    change = Change(key=_key(group), values=values, expected=total.expected())
    if await rows.cas_batch(TOTAL, (EVERYTHING,), [change]) is not None:
        return 0  # somebody else has folded this group meanwhile
    await _remove(rows, group, ids)
    return len(ids)


async def _remove(rows: Rows, group: Group, pages: Sequence[UUID]) -> None:
    for page_id in pages:
        await rows.delete_range(TALLY, (tally_part(group[0]),), only((page_id, *_key(group))))


async def _folded(rows: Rows) -> Mapping[Group, _Total]:
    found = {}
    for row in await _all(rows, TOTAL, EVERYTHING):
        pages = [UUID(hex=page_id) for page_id in json.loads(text(row, "folded"))]
        found[_group(row)] = _Total(Totals.from_json(text(row, "figures")), pages, row)
    return found


async def _pages(rows: Rows) -> Sequence[Row]:
    parts = await abreast(lambda part: _all(rows, TALLY, part), range(TALLY_PARTS))
    return [page for pages in parts for page in pages]


async def _all(rows: Rows, table: Table, partition: int) -> Sequence[Row]:
    found: list[Row] = []
    span = ALL
    while True:
        chunk = await rows.slice(table, (partition,), span, limit=_CHUNK)
        found += chunk
        if len(chunk) < _CHUNK:
            return found
        span = Span(after=tuple(chunk[-1][name] for name in table.clustering))


def _group(row: Row) -> Group:
    return text(row, "owner"), Lane(text(row, "lane")), Origin(number(row, "kind"))


def _key(group: Group) -> Key:
    owner, lane, kind = group
    return owner, lane, int(kind)
