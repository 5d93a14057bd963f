"""The Audit port: entries under numbers without gaps, each taken by a conditional insert.

Whoever appends reads the last number and inserts behind it; if somebody else was faster, it goes on behind that one.
The index by owner and by job is written first, so that it never lacks an entry; it may lead to one of somebody else.
"""

from collections.abc import AsyncIterator, Sequence
from uuid import UUID

from mainspring.adapters.audit_chain import BEFORE_ALL, digest, digests
from mainspring.adapters.cassandra.audit_rows import about, abouts, fitting, part_of, recorded_from, row_from
from mainspring.adapters.cassandra.context import Context
from mainspring.adapters.cassandra.layout import micros
from mainspring.adapters.cassandra.rows import MOST_CHANGES, Change, Row, Span, UnknownOutcome
from mainspring.adapters.cassandra.tables import AUDIT, AUDIT_OF
from mainspring.adapters.cassandra.values import identity, number, text
from mainspring.domain.ids import JobId
from mainspring.ports.audit import Entry, Recorded

_CHUNK = 500
_ID_BITS = 128


class CassandraAudit:
    """Rows are only ever inserted; their digest is filled in once."""

    def __init__(self, context: Context) -> None:
        self._rows = context.rows
        self._clock = context.clock
        self._random = context.random
        self._last = 0
        """A number that is taken, from which the last one is looked for."""
        self._chained = 0
        """A number up to which everything is known to be chained."""

    async def append(self, entries: Sequence[Entry]) -> None:
        """Record what was done, in order."""
        now = micros(self._clock.now())
        rows = [row_from(entry, now) for entry in entries]
        while rows:
            rows = rows[await self._append(rows) :]

    async def page(
        self, *, owner: str | None, job_id: JobId | None, before: int | None, limit: int
    ) -> Sequence[Recorded]:
        """Entries, newest first; of an owner or a job, by an index that is read part by part."""
        found: list[Recorded] = []
        top = await self._find_last() if before is None else before - 1
        subject = next(abouts(owner, job_id), None)
        async for recorded in self._backwards(top, subject, max(limit, 1)):
            if len(found) == limit:
                break
            if owner in (None, recorded.entry.owner) and job_id in (None, recorded.entry.job_id):
                found.append(recorded)
        return found

    async def chain(self, limit: int) -> int:
        """Give the oldest unchained entries their digests; none if somebody else is at it."""
        previous = await self._last_chained()
        pending = await self._from(previous.number if previous else 0, limit)
        if not pending:
            return 0
        found = digests((previous.digest or BEFORE_ALL) if previous else BEFORE_ALL, pending)
        changes = [
            Change(key=(recorded.number,), values={"digest": computed}, expected={"digest": None})
            for recorded, computed in zip(pending, found, strict=True)
        ]
        refused = await self._rows.cas_batch(AUDIT, (part_of(pending[0].number),), changes)
        return 0 if refused is not None else len(pending)

    async def verify(self) -> int | None:
        """The number of the first entry whose digest doesn't fit."""
        previous, last = BEFORE_ALL, 0
        while chunk := await self._from(last, _CHUNK):
            for recorded in chunk:
                if recorded.digest is None:
                    return None  # what follows isn't chained yet
                previous = digest(previous, recorded)
                if recorded.digest != previous:
                    return recorded.number
            last = chunk[-1].number
        return None

    async def _append(self, rows: Sequence[Row]) -> int:
        """Insert the first of *rows* behind the last number; return how many have their place."""
        first = await self._find_last() + 1
        part, placed = part_of(first), fitting(rows, first)
        subjects = [(wanted, abouts(text(row, "owner"), row.get("job_id"))) for wanted, row in placed]
        await self._rows.put([about(subject, wanted) for wanted, each in subjects for subject in each])
        writer = UUID(int=self._random.bits(_ID_BITS))
        changes = [Change(key=(wanted,), values={**row, "writer": writer}) for wanted, row in placed]
        try:
            refused = await self._rows.cas_batch(AUDIT, (part,), changes) is not None
        except UnknownOutcome:
            there = await self._rows.get(AUDIT, (part,), [(first,)], settled=True)
            refused = not there or identity(there[0], "writer") != writer
        if refused:
            return 0
        self._last = placed[-1][0]
        return len(placed)

    async def _find_last(self) -> int:
        """The last number that is taken; parts fill one after the other."""
        part = part_of(self._last)
        step = 1
        while await self._newest(part + step):  # in growing steps, then in halves
            part += step
            step *= 2
        while step > 1:
            step //= 2
            if await self._newest(part + step):
                part += step
        rows = await self._newest(part)
        self._last = max(self._last, number(rows[0], "number")) if rows else self._last
        return self._last

    async def _newest(self, part: int) -> Sequence[Row]:
        return await self._rows.slice(AUDIT, (part,), limit=1, backwards=True)

    async def _last_chained(self) -> Recorded | None:
        """The newest entry that has a digest: all before it have one, none behind it has."""
        low, high = self._chained, await self._find_last()
        newest = await self._at(low)
        while low < high:
            middle = min(low + 1, high) if low == self._chained else (low + high + 1) // 2
            recorded = await self._at(middle)
            if recorded is None or recorded.digest is None:
                high = middle - 1
            else:
                low, newest = middle, recorded
        self._chained = low
        return newest

    async def _at(self, wanted: int) -> Recorded | None:
        rows = await self._rows.get(AUDIT, (part_of(wanted),), [(wanted,)])
        return recorded_from(rows[0]) if rows else None

    async def _from(self, last: int, limit: int) -> Sequence[Recorded]:
        """Entries behind *last* that one part holds, oldest first."""
        span = Span(after=(last,))
        rows = await self._rows.slice(AUDIT, (part_of(last + 1),), span, limit=min(limit, MOST_CHANGES))
        return [recorded_from(row) for row in rows]

    async def _backwards(self, top: int, subject: str | None, chunk: int) -> AsyncIterator[Recorded]:
        """All entries up to *top*, or those that the index leads to, newest first."""
        for part in range(part_of(max(top, 0)), -1, -1):
            last, full = top, True
            while full:
                rows = await self._slice(part, subject, last, chunk)
                for row in rows if subject is None else await self._named(part, rows):
                    yield recorded_from(row)
                full = len(rows) == chunk
                last = number(rows[-1], "number") - 1 if full else 0

    async def _slice(self, part: int, subject: str | None, last: int, limit: int) -> Sequence[Row]:
        table, partition = (AUDIT, (part,)) if subject is None else (AUDIT_OF, (subject, part))
        return await self._rows.slice(table, partition, Span(last=(last,)), limit=limit, backwards=True)

    async def _named(self, part: int, index: Sequence[Row]) -> Sequence[Row]:
        if not index:
            return ()
        return (await self._rows.get(AUDIT, (part,), [(number(row, "number"),) for row in index]))[::-1]
