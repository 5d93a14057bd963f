"""The Output port: a row for each attempt that printed anything, written plainly."""

from collections.abc import Sequence
from typing import cast

from mainspring.adapters.cassandra.context import Context
from mainspring.adapters.cassandra.layout import micros
from mainspring.adapters.cassandra.rows import Put, Row
from mainspring.adapters.cassandra.tables import OUTPUT
from mainspring.adapters.cassandra.values import content, number, text
from mainspring.domain.ids import Fence, RunId
from mainspring.ports.output import Printed

# What is left out of a write stays as it was, so that nothing has a value too.
_NO_PROGRESS = -1.0
_NO_MESSAGE = ""


class CassandraOutput:
    """Rows of stale attempts lie beside the current one's and are never shown."""

    def __init__(self, context: Context) -> None:
        self._rows = context.rows
        self._clock = context.clock

    async def write(self, outputs: Sequence[Printed]) -> None:
        """Replace what is kept for each (run, fence)."""
        now = micros(self._clock.now())
        for printed in outputs:  # one by one: each may be as large as a batch may be
            await self._rows.put([Put(table=OUTPUT, row=_row_from(printed, now))])

    async def read(self, run_id: RunId) -> Printed | None:
        """The output of the highest fence that wrote any."""
        rows = await self._rows.slice(OUTPUT, (run_id,), limit=1, backwards=True)
        return _printed_from(run_id, rows[0]) if rows else None


def _row_from(printed: Printed, now: int) -> Row:
    return {
        "run_id": printed.run_id,
        "fence": printed.fence,
        "head": printed.head,
        "tail": printed.tail,
        "length": printed.length,
        "progress": _NO_PROGRESS if printed.progress is None else printed.progress,
        "message": _NO_MESSAGE if printed.message is None else printed.message,
        "at": now,
    }


def _printed_from(run_id: RunId, row: Row) -> Printed:
    progress = cast("float", row["progress"])
    return Printed(
        run_id=run_id,
        fence=Fence(number(row, "fence")),
        head=content(row, "head"),
        tail=content(row, "tail"),
        length=number(row, "length"),
        progress=None if progress == _NO_PROGRESS else progress,
        message=text(row, "message") or None,
    )
